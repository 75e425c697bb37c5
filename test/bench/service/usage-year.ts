import { DatabaseSync } from "node:sqlite";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import type { UsageTotal } from "../../../src/control-plane/core/usage-view.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import type { UsageRecord } from "../../../src/control-plane/store/usage.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { median, milliseconds } from "../measure.ts";
import { type Bench, atMost, inMilliseconds } from "../result.ts";
import { addAccount, prepareData } from "./service.ts";

const HOUR_S = 3600;
const YEAR_H = 365 * 24;
const YEAR = { start: Date.UTC(2025, 0, 1) / 1000, end: Date.UTC(2026, 0, 1) / 1000 };
/** SIMs stored at a time, as an import of several files does. */
const SIMS_PER_BATCH = 50;
const MAX_RATIO = 1;

/**
 * Time to sum a SIM's usage per month from a year of hourly records of all SIMs, compared with only reading the same
 * rows through the index, and with a sum in SQLite. All through node:sqlite in this process. The records are generated
 * and stored as the import does, to exclude CSV parsing.
 */
export const usageYear: Bench = {
  name: "usage-year",
  async run({ quick }) {
    await using owner = new AsyncDisposableStack();
    const { database: path } = await prepareData(owner.use(await tempDir()).path);
    const store = owner.use(openStore(path));
    const iccids = await addSims(store, quick ? 20 : 1_000);
    const storing = await milliseconds(() => storeYear(store, iccids));
    using scanning = new DatabaseSync(path);
    const where =
      "FROM usage_series JOIN usage_records ON series_id = id WHERE iccid = ? AND start_time >= ? AND start_time < ?";
    const scan = scanning.prepare(`SELECT start_time, bucket, bytes ${where}`);
    const sum = scanning.prepare(`SELECT sum(bytes) AS bytes ${where}`);
    const times: Record<"query" | "scan" | "sum", number[]> = { query: [], scan: [], sum: [] };
    for (const [index, iccid] of iccids.entries()) {
      let totals: readonly UsageTotal[] = [];
      const query = async (): Promise<void> => {
        totals = await store.usage.sumUsage(iccid, YEAR, "month");
      };
      const read = async (): Promise<unknown> => scan.all(iccid, YEAR.start, YEAR.end);
      // Alternate the order: the second one finds the pages in the page cache.
      if (index % 2 === 0) times.query.push(await milliseconds(query));
      times.scan.push(await milliseconds(read));
      if (index % 2 === 1) times.query.push(await milliseconds(query));
      let bytes: unknown;
      times.sum.push(await milliseconds(async () => (bytes = sum.get(iccid, YEAR.start, YEAR.end)?.["bytes"])));
      if (totals.length !== 12 || totals.reduce((total, each) => total + each.bytes, 0) !== bytes) {
        throw new Error(`wrong usage sum of ${iccid}`);
      }
    }
    const [ours, reading, adding] = [median(times.query), median(times.scan), median(times.sum)];
    const records = iccids.length * YEAR_H;
    const what = "edge-control: usage of a SIM per month over that year, median";
    const value = `${ours.toFixed(2)} ms`;
    return {
      data: { sims: iccids.length, records, storingMs: storing, query: ours, scan: reading, sum: adding },
      rows: [
        {
          what: `edge-control: storing ${(records / 1e6).toFixed(2)} million usage records`,
          value: inMilliseconds(storing),
        },
        {
          what,
          value,
          reference: `reading the same rows by the index: ${reading.toFixed(2)} ms`,
          ratio: ours / reading,
          target: atMost(MAX_RATIO, "x", ours / reading),
        },
        { what, value, reference: `sum of the same rows in SQLite: ${adding.toFixed(2)} ms`, ratio: ours / adding },
      ],
    };
  },
};

async function addSims(store: Store, count: number): Promise<readonly string[]> {
  const { accountId } = await addAccount(store);
  const iccids = Array.from({ length: count }, (_, index) => `8988307${String(index).padStart(12, "0")}`);
  for (const [index, iccid] of iccids.entries()) {
    const hex = index.toString(16).padStart(12, "0");
    const asset = {
      uuid: `00000000-0000-7000-8000-${hex}`,
      accountId,
      serialNumber: `GW-${index}`,
      name: `GW-${index}`,
      type: "gateway",
      createdAt: YEAR.start,
      supersim: { sid: `HS${hex}`, iccid, networkGroup: "default_1gb", status: "active" as const },
      prosim: undefined,
    };
    await store.assets.registerAsset(asset, Buffer.from(hex));
  }
  return iccids;
}

async function storeYear(store: Store, iccids: readonly string[]): Promise<void> {
  for (let from = 0; from < iccids.length; from += SIMS_PER_BATCH) {
    await store.usage.recordUsage(hourly(iccids.slice(from, from + SIMS_PER_BATCH)));
  }
}

async function* hourly(iccids: readonly string[]): AsyncGenerator<UsageRecord> {
  for (const iccid of iccids) {
    for (let hour = 0; hour < YEAR_H; hour++) {
      const startTime = YEAR.start + hour * HOUR_S;
      yield { iccid, bucket: "default_1gb", startTime, endTime: startTime + HOUR_S, bytes: (hour * 7919) % 1_000_000 };
    }
  }
}
