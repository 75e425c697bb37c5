import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
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
/** Pause between two requests: below the rate limit of a key. */
const PAUSE_MS = 105;

/**
 * What one device, one account or one client without a key does to the others: the 99th percentile of another account's
 * requests for its overview, beside each flood and without it, by turns.
 */
export const floods: Bench = {
  name: "floods",
  isOnRequest: true,
  async run({ quick }) {
    await using directory = await tempDir();
    const requests = quick ? 20 : 120;
    const rows: Row[] = [];
    const data: Record<string, unknown> = {};
    for (const [name, start] of DATABASES) {
      await using owned = new AsyncDisposableStack();
      const folder = join(directory.path, name);
      const { deviceToken, attacker, other } = await prepare(folder);
      const service = await start(folder, owned);
      await using flood = startFlood();
      for (const kind of FLOOD_NAMES) {
        const order = { name: kind, port: service.port, deviceToken, apiKey: attacker, asset: "GW-0" };
        const { ours, reference, ratio } = await paired(
          quick ? 1 : 3,
          async () => {
            await flood.change(order);
            const p99 = await p99Of(service, other, requests);
            await flood.change("stop");
            return p99;
          },
          () => p99Of(service, other, requests),
        );
        data[`${name}: ${kind}`] = { ours, reference, ratio };
        rows.push({
          what: `${name}, ${kind}: another account's overview, p99`,
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
  readonly deviceToken: string;
  /** Keys of two accounts. */
  readonly attacker: string;
  readonly other: string;
}

/** Writes an account with one asset, and another one with more, to the data directory of this folder. */
async function prepare(folder: string): Promise<Prepared> {
  await mkdir(folder);
  const [attacker, other] = await withStore(folder, async (store) => [
    await addAccount(store),
    await addAccount(store),
  ]);
  const { database } = await prepareData(folder);
  const [deviceToken = ""] = addDevices(database, attacker.accountId, 1);
  addDevices(database, other.accountId, ASSETS, 1);
  return { deviceToken, attacker: attacker.apiKey, other: other.apiKey };
}

async function p99Of({ host, port }: Service, apiKey: string, requests: number): Promise<number> {
  const target = { host, port, path: "/v1/overview", headers: { "X-API-Key": apiKey } };
  using client = await KeepAliveClient.connect(target);
  const request = requestFor(target);
  const times: number[] = [];
  for (let count = 0; count < requests; count++) {
    const start = performance.now();
    await client.ask(request);
    times.push(performance.now() - start);
    await sleep(PAUSE_MS);
  }
  return percentile(times, 99);
}

function startFlood(): AsyncDisposable & { change(order: FloodOrder | "stop"): Promise<void> } {
  const path = join("test", "bench", "service", "flood-process.ts");
  const child = fork(path, { execPath: "dist/node", stdio: "inherit" });
  const ended = once(child, "exit");
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
