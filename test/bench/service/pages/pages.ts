import { tempDir } from "../../../support/temp-dir.ts";
import { median, milliseconds } from "../../measure.ts";
import { type Bench, atMost, type Row } from "../../result.ts";
import { type List, LISTS } from "./lists.ts";
import { type FilledStore, fillPostgres, fillSqlite } from "./stores.ts";

const SIZES = [1_000, 1_000_000] as const;
const QUICK_SIZES = [1_000, 20_000] as const;
const MAX_RATIO = 2;
const ROUNDS = 40;
/** Before the rounds: PostgreSQL plans a prepared statement anew the first five times. */
const WARM_UP = 6;

interface Measured {
  readonly rows: number;
  readonly entries: number;
  /** Median of the rounds. */
  readonly ms: number;
  /** The quickest round: what a page takes when nothing else is running. */
  readonly quickestMs: number;
  readonly buffers: number | undefined;
}

/** Time of a page of 50 of each list of a whole account, out of a thousand rows and out of a million, through the store. */
export const pages: Bench = {
  name: "pages",
  isOnRequest: true,
  async run({ quick }) {
    await using owner = new AsyncDisposableStack();
    const folder = owner.use(await tempDir()).path;
    const sizes = quick ? QUICK_SIZES : SIZES;
    const stores = {
      SQLite: await fillSqlite(folder, sizes, owner),
      PostgreSQL: await fillPostgres(sizes, owner),
    };
    const rows: Row[] = [];
    const data: Record<string, unknown> = {};
    for (const [database, filled] of Object.entries(stores)) {
      for (const list of LISTS) {
        const [few, many] = await measure(list, filled, quick ? 3 : ROUNDS);
        if (!few || !many) throw new Error("there are two sizes");
        data[`${database}: ${list.name}`] = [few, many];
        rows.push(toRow(database, list, few, many));
      }
    }
    return { rows, data };
  },
};

async function measure(list: List, filled: readonly FilledStore[], rounds: number): Promise<readonly Measured[]> {
  for (let round = 0; round < WARM_UP; round++) {
    for (const { store, rows } of filled) await list.read(store, rows);
  }
  const times = filled.map((): number[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [index, { store, rows }] of filled.entries())
      times[index]?.push(await milliseconds(() => list.read(store, rows)));
  }
  const measured: Measured[] = [];
  for (const [index, each] of filled.entries()) {
    let entries = 0;
    const buffers = await each.countBuffers(async () => (entries = await list.read(each.store, each.rows)));
    measured.push({
      rows: each.rows,
      entries,
      ms: median(times[index] ?? []),
      quickestMs: Math.min(...(times[index] ?? [])),
      buffers,
    });
  }
  return measured;
}

function toRow(database: string, { name, bound }: List, few: Measured, many: Measured): Row {
  // Near the end of a thousand, less than a page may match: then it is the time for an entry.
  const ratio = many.ms / few.ms / (few.entries > 0 ? many.entries / few.entries : 1);
  return {
    what: `${database}: ${name}`,
    value: describe(many),
    reference: describe(few),
    ratio,
    target: bound === undefined ? atMost(MAX_RATIO, "x", ratio) : { text: `looks at ${bound} at most`, met: true },
  };
}

function describe({ rows, entries, ms, buffers }: Measured): string {
  const read = buffers === undefined ? "" : `, ${buffers} buffers`;
  return `${ms.toFixed(2)} ms${read} for ${entries} of ${rows.toLocaleString("en")}`;
}
