import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Receivers } from "../../support/alerts/receivers.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";
import { processorMs, residentBytes, settledBytes } from "../process-usage.ts";
import { atMost, type Bench, inMegabytes, inMilliseconds } from "../result.ts";
import { KeepAliveClient, requestFor } from "./keep-alive-client.ts";
import { addAccount, prepareData, type Service, startService, withStore } from "./service.ts";
import { addDevices, startFleet } from "./simulated-fleet.ts";

const DEVICES = 10_000;
const DEVICE_PROCESSES = 4;
/** A tenth of it is how far apart devices may go that are told of at once. */
const GONE_FOR_S = 300;
const QUICK_GONE_FOR_S = 60;
const PROBE_PAUSE_MS = 5;
const MAX_SECONDS = 10;
const MAX_STOP_MS = 50;
const MAX_MEGABYTES = 20;

/**
 * Devices that are lost at once, and are all back at once: when the message is at its receiver after the time for which they have to be
 * gone, how many there are, and what it costs the service meanwhile. How long its event loop stands still is at most what the slowest of
 * another client's requests takes that needs no database.
 */
export const alertOutage: Bench = {
  name: "alert-outage",
  isOnRequest: true,
  async run({ quick }) {
    await using owner = new AsyncDisposableStack();
    const devices = quick ? 1_000 : DEVICES;
    const goneForS = quick ? QUICK_GONE_FOR_S : GONE_FOR_S;
    const folder = owner.use(await tempDir()).path;
    const { accountId, apiKey } = await withStore(folder, addAccount);
    const tokens = addDevices((await prepareData(folder)).database, accountId, devices);
    const config = join(folder, "control.json");
    await writeFile(config, JSON.stringify({ alert_channels: { allow_private: ["127.0.0.1"] } }));
    const receivers = owner.use(await Receivers.start(() => Date.now()));
    const service = owner.use(await startService(folder, { config }));
    receivers.secrets = await configure(service, apiKey, receivers.url, goneForS);
    const fleet = owner.use(startFleet(tokens, DEVICE_PROCESSES));
    const url = `ws://${service.host}:${service.port}/v1/agent`;
    await fleet.connect(url);
    await settledBytes(service.pid, quick ? 2_000 : 20_000);
    const restUntil = performance.now() + (quick ? 2_000 : 20_000);
    // What the requests of this benchmark take counts as rest.
    const rest = await observe(service, 0, () => performance.now() > restUntil);

    const goneAt = Date.now();
    await fleet.disconnect();
    await sleep(goneForS * 500);
    // From here on nothing but the alerts is due.
    const lost = await observe(service, rest.moreBytes, () => messages(receivers, 1));
    const backAt = Date.now();
    await fleet.connect(url);
    const connectedAt = Date.now();
    const back = await observe(service, rest.moreBytes, () => messages(receivers, 2));
    // More would follow within the two minutes after which a group tells of what has joined it.
    await sleep(quick ? 1_000 : 130_000);
    const [first, last, ...others] = receivers.receipts;
    const toMessageS = ((first?.atMs ?? NaN) - goneAt) / 1000 - goneForS;
    const toEndS = ((last?.atMs ?? NaN) - connectedAt) / 1000;
    const what = `edge-control: ${devices} devices lost at once`;
    const isOne = others.length === 0 && (first?.text.includes(`: ${devices} assets`) ?? false);
    return {
      data: {
        devices,
        goneForS,
        rest,
        lost,
        back,
        toMessageS,
        toEndS,
        returnMs: connectedAt - backAt,
        first,
        last,
        others,
      },
      rows: [
        {
          what: `${what}: until the message is there`,
          value: `${toMessageS.toFixed(1)} s`,
          reference: `after they are back: ${toEndS.toFixed(1)} s`,
          target: atMost(MAX_SECONDS, "s", toMessageS),
        },
        {
          what: `${what}: messages`,
          value: `${1 + others.length}, and 1 at the end`,
          target: { text: "one, with all of them", met: isOne },
        },
        {
          what: `${what}: slowest answer to another client`,
          value: inMilliseconds(lost.slowestMs),
          reference: `at the end: ${inMilliseconds(back.slowestMs)}, at rest: ${inMilliseconds(rest.slowestMs)}`,
          target: atMost(MAX_STOP_MS, "ms", lost.slowestMs),
        },
        {
          what: `${what}: more memory than at rest with all connected, at most`,
          value: inMegabytes(lost.moreBytes),
          reference: `at the end: ${inMegabytes(back.moreBytes)}`,
          target: atMost(MAX_MEGABYTES, "MB", lost.moreBytes / 1e6),
        },
        { what: `${what}: processor time`, value: inMilliseconds(lost.processorMs) },
      ],
    };
  },
};

/** Stores a webhook that is told of everything. Returns the secrets. */
async function configure(
  { host, port }: Service,
  apiKey: string,
  receiver: string,
  goneForS: number,
): Promise<Readonly<Record<string, string>>> {
  const response = await fetch(`http://${host}:${port}/v1/alert-settings`, {
    method: "PUT",
    headers: { "X-API-Key": apiKey, "Content-Type": "application/json" },
    body: JSON.stringify({
      rules: [{ condition: "device_offline", for_s: goneForS }],
      routes: { all: { channels: ["ops"] } },
      channels: { ops: { kind: "webhook", url: `${receiver}/webhook/ops` } },
    }),
  });
  const body = (await response.json()) as { readonly new_secrets?: Readonly<Record<string, string>> };
  if (!response.ok || !body.new_secrets) throw new Error(`the settings were refused: ${JSON.stringify(body)}`);
  return body.new_secrets;
}

function messages({ receipts, problems }: Receivers, count: number): boolean {
  if (problems.length > 0) throw new Error(problems.join("\n"));
  return receipts.length >= count;
}

interface Observed {
  readonly slowestMs: number;
  readonly moreBytes: number;
  readonly processorMs: number;
}

/** Asks the service without a pause worth mentioning until it is so. */
async function observe(service: Service, restingBytes: number, isOver: () => boolean): Promise<Observed> {
  const target = { host: service.host, port: service.port, path: "/healthz", headers: {} };
  using client = await KeepAliveClient.connect(target);
  const request = requestFor(target);
  const before = processorMs(service.pid);
  let [slowestMs, mostBytes] = [0, 0];
  await waitFor(
    "the message",
    async () => {
      const start = performance.now();
      await client.ask(request);
      slowestMs = Math.max(slowestMs, performance.now() - start);
      mostBytes = Math.max(mostBytes, residentBytes(service.pid));
      return isOver();
    },
    { intervalMs: PROBE_PAUSE_MS, timeoutMs: 600_000 },
  );
  return {
    slowestMs,
    moreBytes: Math.max(0, mostBytes - restingBytes),
    processorMs: processorMs(service.pid) - before,
  };
}
