import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { condense, dayOf, OLD_HEALTH_ROW_S } from "../../../src/control-plane/core/health-days.ts";
import { QUARTER_ROWS_KEPT_DAYS } from "../../../src/control-plane/store/health.ts";
import { migratePostgres } from "../../../src/control-plane/store/postgres/migrations.ts";
import { postgresStoreOn } from "../../../src/control-plane/store/postgres/open-store.ts";
import { PostgresPool } from "../../../src/control-plane/store/postgres/pool.ts";
import { numberedParameters } from "../../../src/control-plane/store/sql/postgres-executor.ts";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { APP_REPORT_ROW_S, combineAppRows } from "../../../src/protocol/link/app-health.ts";
import { HEALTH_ROW_S, REPORTED_HEALTH_METRICS } from "../../../src/protocol/link/device-health.ts";
import { HealthMessageReader, HealthMessageWriter } from "../../../src/protocol/link/health-message.ts";
import { combineRows, type HealthRow } from "../../../src/protocol/link/health-points.ts";
import { encodeHealthRows, HEALTH_REPORT_ROW_S } from "../../../src/protocol/link/health-rows.ts";
import { BUSY, usedApps } from "../../support/health-samples.ts";
import { PostgresServer } from "../../support/postgres.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { milliseconds } from "../measure.ts";
import { atMost, type Bench, inMegabytes, type Row } from "../result.ts";
import { KeepAliveClient, requestFor } from "./keep-alive-client.ts";
import { percentile } from "./percentile.ts";
import { addAccount, prepareData, type Service, startService } from "./service.ts";

const DAY_S = 86_400;
const DEVICES = 10_000;
const DAYS = 30;
const READS = 100;
const WARM_UPS = 10;
const REGISTERED_AT_ONCE = 8;
const MAX_READ_MS = 300;
/** Devices whose messages of a day are stored to see what one costs. */
const SENDING_DEVICES = 100;
const MAX_PROCESSOR_PERCENT = 2;
/** The others get their hours so many at a time: the dead space follows from `DEAD_PART`. */
const COPIED_HOURS = 8;
/** As autovacuum does it by default. */
const DEAD_PART = 0.2;

/** The others get what the model has of a day, in the place of what they had of it. */
const COPY_DAY = /* sql */ `
  INSERT INTO health_days (asset_uuid, day, interval_s, content, apps)
  SELECT a.uuid, h.day, h.interval_s, h.content, h.apps FROM assets a, health_days h
  WHERE h.asset_uuid = ?1 AND h.day = ?2 AND a.uuid <> ?1
  ON CONFLICT (asset_uuid, day) DO UPDATE SET content = excluded.content, apps = excluded.apps`;
const NEWEST_COLUMNS = `account_id, at, recent, apps, ${REPORTED_HEALTH_METRICS.join(", ")}`;
const COPY_NEWEST = /* sql */ `
  INSERT INTO device_health (asset_uuid, ${NEWEST_COLUMNS})
  SELECT a.uuid, h.${NEWEST_COLUMNS.replaceAll(", ", ", h.")} FROM assets a, device_health h
  WHERE h.asset_uuid = ?1 AND a.uuid <> ?1`;
const CONDENSE_DAY = "UPDATE health_days SET interval_s = ?1, content = ?2 WHERE day = ?3";

interface Database extends AsyncDisposable {
  readonly name: string;
  readonly store: Store;
  run(sql: string, values: readonly (string | number | Uint8Array)[]): Promise<void>;
  /** Bytes of the tables of the history, with their indexes. */
  bytes(): Promise<number>;
  /** Has the space of old rows used again, if that takes a command. */
  vacuum(): Promise<void>;
  /** Starts the service on it. The store must not be used any more. */
  serve(): Promise<Service>;
}

/**
 * The history of busy devices with three apps: what a month of one and of many takes on disk, written hour by hour as it arrives and
 * condensed when it is old, how long the service takes for a month of one of them, and what it takes to store what all of them send. What
 * the others have is a copy of what one has.
 */
export const healthMonths: Bench = {
  name: "health-months",
  isOnRequest: true,
  async run({ quick }) {
    const [devices, days] = quick ? [50, 3] : [DEVICES, DAYS];
    const rows: Row[] = [];
    const data: Record<string, unknown> = { devices, days };
    for (const open of [openSqlite, openPostgres]) {
      const one = await measure(open, 1, days);
      const many = await measure(open, devices, days);
      data[many.name] = { one, many };
      const each = `${(many.bytes / devices / 1024).toFixed(1)} KiB each`;
      const reads = many.readMs;
      // Each sends a message an hour.
      const percent = ((many.messageMs * devices) / 3_600_000) * 100;
      rows.push(
        {
          what: `edge-control, ${many.name}: ${days} days of ${devices} devices with 3 apps on disk`,
          value: `${inMegabytes(many.bytes)}, ${each}`,
          reference: `of one device alone: ${(one.bytes / 1024).toFixed(0)} KiB`,
        },
        {
          what: `edge-control, ${many.name}: ${days} days of one of them, with its apps, in 200 points, 99th percentile`,
          value: `${percentile(reads, 99).toFixed(1)} ms`,
          reference: `median: ${percentile(reads, 50).toFixed(1)} ms`,
          target: atMost(MAX_READ_MS, "ms", percentile(reads, 99)),
        },
        {
          what: `edge-control, ${many.name}: ${devices} devices that send each hour: processor, of one, from their messages`,
          value: `${percent.toFixed(2)} %`,
          reference: `a message: ${many.messageMs.toFixed(2)} ms`,
          target: atMost(MAX_PROCESSOR_PERCENT, "%", percent),
        },
      );
    }
    return { data, rows };
  },
};

interface Measured {
  readonly name: string;
  readonly bytes: number;
  readonly readMs: readonly number[];
  /** Processor time of this process to read and store one message; the database's own is in it with SQLite. */
  readonly messageMs: number;
}

async function measure(open: () => Promise<Database>, devices: number, days: number): Promise<Measured> {
  await using database = await open();
  const { name, store } = database;
  const { accountId, apiKey } = await addAccount(store);
  const uuids = await addAssets(store, accountId, devices);
  const [model = ""] = uuids;
  const today = dayOf(Date.now() / 1000);
  let dead = 0;
  for (let day = today - days; day < today; day++) {
    const rows = rowsOf(day);
    for (let hour = 0; hour < 24; hour++) {
      await addHour(store, model, day * DAY_S + hour * APP_REPORT_ROW_S, rows);
      if ((hour + 1) % COPIED_HOURS !== 0) continue;
      await database.run(COPY_DAY, [model, day]);
      dead += hour < COPIED_HOURS ? 0 : devices;
      if (dead > DEAD_PART * devices * (day - today + days + 1)) {
        await database.vacuum();
        dead = 0;
      }
    }
    const old = day - QUARTER_ROWS_KEPT_DAYS;
    if (old < today - days) continue;
    const { rows: stored } = await store.health.listRows(model, { from: old * DAY_S, to: old * DAY_S });
    const content = encodeHealthRows(condense(stored), OLD_HEALTH_ROW_S);
    await database.run(CONDENSE_DAY, [OLD_HEALTH_ROW_S, content, old]);
    dead += devices;
  }
  await database.run(COPY_NEWEST, [model]);
  await database.vacuum();
  const bytes = await database.bytes();
  const messageMs = await storeMessages(store, uuids, today);
  // Of minutes of work, nothing is lost if the machine is too busy for the rest.
  console.error(`${name}, ${days} days of ${devices}: ${bytes} bytes, ${messageMs.toFixed(2)} ms a message`);
  await using service = await database.serve();
  const readMs = await readMonths(service, apiKey, uuids, (today - days) * DAY_S);
  return { name, bytes, readMs, messageMs };
}

/** Stores what some devices send of a day, hour by hour. Returns the processor time of one message. */
async function storeMessages(store: Store, uuids: readonly string[], day: number): Promise<number> {
  const rows = rowsOf(day);
  const some = uuids.slice(0, SENDING_DEVICES);
  const before = process.cpuUsage();
  for (let hour = 0; hour < 24; hour++)
    for (const uuid of some) await addHour(store, uuid, day * DAY_S + hour * APP_REPORT_ROW_S, rows);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / (24 * some.length);
}

async function addAssets(store: Store, accountId: string, count: number): Promise<readonly string[]> {
  const uuids = Array.from({ length: count }, (_, index) => {
    // In no order, as those of real assets.
    const hex = ((index * 2_654_435_761) % 2 ** 32).toString(16).padStart(8, "0");
    return `${hex}-0000-4000-8000-${index.toString(16).padStart(12, "0")}`;
  });
  for (let from = 0; from < count; from += REGISTERED_AT_ONCE) {
    const some = uuids.slice(from, from + REGISTERED_AT_ONCE).map(async (uuid, offset) => {
      const serialNumber = `GW-${from + offset}`;
      const asset = { uuid, accountId, serialNumber, name: serialNumber, type: "gateway", createdAt: 1_790_000_000 };
      await store.assets.registerAsset({ ...asset, supersim: undefined, prosim: undefined }, Buffer.from(uuid));
    });
    await Promise.all(some);
  }
  return uuids;
}

interface Day {
  readonly rows: readonly HealthRow[];
  readonly apps: ReturnType<typeof combineAppRows>;
}

/** What a busy device sends of a day. */
function rowsOf(day: number): Day {
  const sampled = Array.from({ length: DAY_S / HEALTH_ROW_S }, (_, index) => {
    const spreads = BUSY(day * (DAY_S / HEALTH_ROW_S) + index);
    const reported = REPORTED_HEALTH_METRICS.flatMap((metric) => (spreads[metric] ? [[metric, spreads[metric]]] : []));
    return { at: day * DAY_S + index * HEALTH_ROW_S, spreads: Object.fromEntries(reported) as typeof spreads };
  });
  const used = Array.from({ length: DAY_S / HEALTH_REPORT_ROW_S }, (_, index) => ({
    at: day * DAY_S + index * HEALTH_REPORT_ROW_S,
    apps: usedApps("busy"),
  }));
  return { rows: combineRows(sampled, HEALTH_REPORT_ROW_S), apps: combineAppRows(used, APP_REPORT_ROW_S) };
}

/** Stores an hour as the service does when its message has arrived. */
async function addHour(store: Store, uuid: string, from: number, { rows, apps }: Day): Promise<void> {
  const isOfHour = ({ at }: { readonly at: number }): boolean => at >= from && at < from + APP_REPORT_ROW_S;
  const message = new HealthMessageWriter().write({ rows: rows.filter(isOfHour), apps: apps.filter(isOfHour) });
  const report = new HealthMessageReader().read(Buffer.from(message));
  if (!report) throw new Error("the message cannot be read");
  await store.health.addRows(uuid, report.rows, report.apps);
}

async function readMonths(
  service: Service,
  apiKey: string,
  uuids: readonly string[],
  from: number,
): Promise<readonly number[]> {
  using client = await KeepAliveClient.connect(service);
  const times: number[] = [];
  for (let read = 0; read < WARM_UPS + READS; read++) {
    const uuid = uuids[(read * 7_919) % uuids.length];
    const path = `/v1/assets/${uuid}/health?source=service&apps=true&points=200&from=${from}`;
    const request = requestFor({ ...service, path, headers: { "X-API-Key": apiKey } });
    let body = "";
    const took = await milliseconds(async () => {
      body = await client.ask(request);
    });
    if (read >= WARM_UPS) times.push(took);
    const { at, apps } = JSON.parse(body) as { readonly at: unknown[]; readonly apps: { readonly apps: unknown[] } };
    if (at.length < 50 || apps.apps.length !== 3) throw new Error(`not a month of ${uuid}: ${body.slice(0, 200)}`);
  }
  return times;
}

async function openSqlite(): Promise<Database> {
  const directory = await tempDir();
  // Closed before the service opens it.
  await using opening = new AsyncDisposableStack();
  const { database: path } = await prepareData(directory.path);
  const store = opening.use(openStore(path));
  const database = opening.use(new DatabaseSync(path));
  const size = database.prepare(
    "SELECT sum(pgsize) AS bytes FROM dbstat WHERE name LIKE 'health_days%' OR name LIKE 'device_health%'",
  );
  const opened = opening.move();
  return {
    name: "SQLite",
    store,
    run: async (sql, values) => void database.prepare(sql).run(...values),
    bytes: async () => Number(size.get()?.["bytes"]),
    vacuum: async () => {},
    async serve() {
      await opened.disposeAsync();
      return startService(directory.path);
    },
    async [Symbol.asyncDispose]() {
      await opened.disposeAsync();
      await directory[Symbol.asyncDispose]();
    },
  };
}

async function openPostgres(): Promise<Database> {
  await using owner = new AsyncDisposableStack();
  const folder = owner.use(await tempDir()).path;
  const server = owner.use(await PostgresServer.start({ settings: ["autovacuum = off"] }));
  const name = await server.createDatabase();
  await migratePostgres(server.options(name));
  const pool = owner.use(new PostgresPool(server.options(name)));
  // Of its own: the service's statements may take no longer than its requests.
  const client = new pg.Client(server.options(name));
  owner.defer(() => client.end());
  await client.connect();
  const parts = owner.move();
  const tables = "('health_days'::regclass), ('device_health'::regclass)";
  return {
    name: "PostgreSQL",
    store: postgresStoreOn(pool),
    run: async (sql, values) => void (await client.query(numberedParameters(sql), [...values])),
    async bytes() {
      const sizes = `SELECT sum(pg_total_relation_size(t)) AS bytes FROM (VALUES ${tables}) AS tables (t)`;
      return Number((await client.query<{ bytes: string }>(sizes)).rows[0]?.bytes);
    },
    vacuum: async () => void (await client.query("VACUUM (ANALYZE) health_days")),
    serve: () =>
      startService(join(folder, "service"), {
        "database-url": `postgres://postgres@${server.address}:${server.port}/${name}`,
      }),
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}
