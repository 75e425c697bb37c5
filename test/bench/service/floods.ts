import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { constants, setPriority } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { tempDir } from "../../support/temp-dir.ts";
import { paired } from "../measure.ts";
import { type Bench, inMilliseconds, type Row } from "../result.ts";
import { FLOOD_NAMES, type FloodOrder } from "./flood-process.ts";
import { KeepAliveClient, requestFor } from "./keep-alive-client.ts";
import { percentile } from "./percentile.ts";
import { addAccount, prepareData, type Service, startService, withStore } from "./service.ts";
import { SharedDatabase } from "./shared-database.ts";
import { addDevices } from "./simulated-fleet.ts";

/** How much slower the slowest of a hundred requests of others may become. */
const MAX_RATIO = 2;
const ASSETS = 50;
/** Other accounts, which ask by turns. */
const OTHERS = 4;
/** Pause between two requests: below the rate limit of their keys. */
const PAUSE_MS = 27;

/**
 * What one device, one account or one client without a key does to the others: the 99th percentile of other accounts' requests
 * for their overview, beside each flood and without it, by turns. The flood stands for other machines: it takes processor time
 * that nothing else needs.
 */
export const floods: Bench = {
  name: "floods",
  isOnRequest: true,
  async run({ quick }) {
    await using directory = await tempDir();
    const requests = quick ? 80 : 240;
    const rows: Row[] = [];
    const data: Record<string, unknown> = {};
    for (const [name, start] of DATABASES) {
      await using owned = new AsyncDisposableStack();
      const folder = join(directory.path, name);
      const { deviceTokens, attacker, others } = await prepare(folder);
      const service = await start(folder, owned);
      await using flood = startFlood();
      for (const [index, kind] of FLOOD_NAMES.entries()) {
        const deviceToken = deviceTokens[index] ?? "";
        const order = { name: kind, port: service.port, deviceToken, apiKey: attacker, asset: "GW-0" };
        const { ours, reference, ratio } = await paired(
          quick ? 1 : 3,
          async () => {
            await flood.change(order);
            const p99 = await p99Of(service, others, requests);
            await flood.change("stop");
            return p99;
          },
          () => p99Of(service, others, requests),
        );
        data[`${name}: ${kind}`] = { ours, reference, ratio };
        rows.push({
          what: `${name}, ${kind}: others' overview, p99`,
          value: inMilliseconds(Math.max(...ours)),
          reference: `quiet: ${inMilliseconds(Math.max(...reference))}`,
          ratio,
          target: { text: `at most ${MAX_RATIO} x`, met: ratio <= MAX_RATIO },
        });
      }
    }
    return { data, rows };
  },
};

const DEFAULT_LIMIT = { "rate-limit-per-minute": "600" };

type Start = (folder: string, owned: AsyncDisposableStack) => Promise<Service>;

const DATABASES: readonly (readonly [name: string, start: Start])[] = [
  ["SQLite", async (folder, owned) => owned.use(await startService(folder, DEFAULT_LIMIT))],
  [
    "PostgreSQL",
    async (folder, owned) => owned.use(await SharedDatabase.copyOf(folder, DEFAULT_LIMIT)).startInstance(),
  ],
];

interface Prepared {
  /** One for each flood: what an earlier one has sent would slow it down. */
  readonly deviceTokens: readonly string[];
  /** Keys of accounts. */
  readonly attacker: string;
  readonly others: readonly string[];
}

/** Writes an account with an asset for each flood, and others with more, to the data directory of this folder. */
async function prepare(folder: string): Promise<Prepared> {
  await mkdir(folder);
  const [attacker, others] = await withStore(folder, async (store) => [
    await addAccount(store),
    await Promise.all(Array.from({ length: OTHERS }, () => addAccount(store))),
  ]);
  const { database } = await prepareData(folder);
  const deviceTokens = addDevices(database, attacker.accountId, FLOOD_NAMES.length);
  for (const [index, { accountId }] of others.entries()) {
    addDevices(database, accountId, ASSETS, FLOOD_NAMES.length + index * ASSETS);
  }
  return { deviceTokens, attacker: attacker.apiKey, others: others.map(({ apiKey }) => apiKey) };
}

async function p99Of({ host, port }: Service, apiKeys: readonly string[], requests: number): Promise<number> {
  await using clients = new AsyncDisposableStack();
  const senders = await Promise.all(
    apiKeys.map(async (apiKey) => {
      const target = { host, port, path: "/v1/overview", headers: { "X-API-Key": apiKey } };
      return { client: clients.use(await KeepAliveClient.connect(target)), request: requestFor(target) };
    }),
  );
  const times: number[] = [];
  while (times.length < requests) {
    for (const { client, request } of senders) {
      const start = performance.now();
      await client.ask(request);
      times.push(performance.now() - start);
      await sleep(PAUSE_MS);
    }
  }
  return percentile(times, 99);
}

function startFlood(): AsyncDisposable & { change(order: FloodOrder | "stop"): Promise<void> } {
  const path = join("test", "bench", "service", "flood-process.ts");
  const child = fork(path, { execPath: "dist/node", stdio: "inherit" });
  const ended = once(child, "exit");
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
  return {
    async change(order) {
      const changed = once(child, "message");
      child.send(order);
      await Promise.race([
        changed,
        ended.then(([code, signal]) => Promise.reject(new Error(`the flood ended early: ${String(signal ?? code)}`))),
      ]);
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await ended;
    },
  };
}
