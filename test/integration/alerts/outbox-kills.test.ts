import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { postgresStoreOn } from "../../../src/control-plane/store/postgres/open-store.ts";
import { PostgresPool } from "../../../src/control-plane/store/postgres/pool.ts";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { ACCOUNT, addRoute, AlertRig, connectDevices } from "../../support/alerts/alert-rig.ts";
import { type FailingStore, failingStore, type Fate } from "../../support/control-plane/failing-store.ts";
import { killedInTransactions } from "../../support/control-plane/killed-in-transactions.ts";
import { postgresUnavailableReason } from "../../support/postgres.ts";
import { PostgresDatabases } from "../../support/postgres-store.ts";

const MINUTE = 60_000;
/** Less than the lease of a process that was killed. */
const STEP_MS = 5_000;

/** A write, by the name of a call or the text of a statement. */
type Decide = (write: string) => Fate;

interface Killable extends AsyncDisposable {
  readonly store: Store;
  /** The store as a process sees it that is killed when `decide` says so. */
  killed(decide: Decide): Store;
}

/** What the process writes of alerts and their messages, by calls of the store, and by statements and their commits. */
const WRITE =
  /^(?:alert(?:s\.change|Outbox\.(?:assign|step|finish))$|(?:COMMIT)?\s*(?:INSERT INTO|UPDATE) (?:alerts|alert_groups|alert_group_members|alert_deliveries|alert_channels|account_events)\b)/;
const CLAIM = /^alertOutbox\.claim$|SET claimed_by = \$1/;
const STEP = /^alertOutbox\.step$|UPDATE alert_groups SET due_ms = CAST/;
const MAX_CLAIMS = 4;
const isInTransaction = (write: string): boolean => /\s/.test(write) && !write.startsWith("COMMIT");

/** Does nothing while a process waits for its store: time passes for both of them alike. */
async function untilIdle(stores: readonly FailingStore[]): Promise<void> {
  for (let quietTurns = 0; quietTurns < 5; quietTurns++) {
    await new Promise(setImmediate);
    if (stores.some(({ underWay }) => underWay > 0)) quietTurns = -1;
  }
}

/** Tells of one device that goes and comes back, with a kill at a write. Returns whether there was a kill. */
async function runWithKill(killable: Killable, fate: Exclude<Fate, "done">, killAt: number): Promise<boolean> {
  const { store } = killable;
  await store.accounts.createAccount({ id: ACCOUNT, name: "Water works", createdAt: 0 });
  await store.alerts.saveRound({ lastAtMs: 0, fromMs: 0, untilMs: 0 });
  await using rig = new AlertRig();
  const [device] = await connectDevices(store, rig.clock, 1);
  await addRoute(store, ["ops"]);
  let [writes, claims] = [0, 0];
  let hasSpoken = false;
  let isKilled = false;
  const first = failingStore(
    killable.killed((write) => {
      // The process is gone: nothing it does has an effect any more.
      if (isKilled) return "refused";
      hasSpoken ||= STEP.test(write);
      // Before there is a message, and after the first few times, a claim finds nothing.
      const isWrite = CLAIM.test(write) ? hasSpoken && claims++ < MAX_CLAIMS : WRITE.test(write);
      // Before the commit it is the same whether a statement was carried out.
      const isSame = fate === "result_lost" && isInTransaction(write);
      if (!isWrite || isSame || writes++ < killAt) return "done";
      isKilled = true;
      return fate;
    }),
  );
  const second = failingStore(store);
  const until = (what: string, look: () => Promise<boolean> | boolean): Promise<void> =>
    rig.until(
      what,
      async () => {
        await untilIdle([first, second]);
        return look();
      },
      STEP_MS,
    );
  const has = (type: string): boolean => rig.received.some(({ message }) => message.type === type);
  await device?.leave();
  // Long gone: the first round tells it.
  rig.clock.pass(40 * MINUTE);
  await rig.start(first.store);
  await until("the alert, or the kill", () => isKilled || rig.received.length > 0);
  if (isKilled) await rig.start(second.store);
  await until("the alert", () => has("firing"));
  await device?.join();
  await until("the end, or the kill", () => isKilled || has("resolved"));
  if (isKilled) await rig.start(second.store);
  await until("the end", () => has("resolved"));
  await until(
    "the outbox to be empty",
    async () => (await store.alertOutbox.listDeliveries(ACCOUNT, { state: "waiting" }, 9)).length === 0,
  );
  const byId = Map.groupBy(rig.received, ({ id }) => id);
  expect([...byId.values()].map(([copy]) => copy?.message.type)).toEqual(["firing", "resolved"]);
  for (const copies of byId.values())
    expect(new Set(copies.map(({ message }) => JSON.stringify(message))).size).toBe(1);
  const deliveries = await store.alertOutbox.listDeliveries(ACCOUNT, {}, 9);
  expect(deliveries.map(({ state }) => state)).toEqual(["delivered", "delivered"]);
  return isKilled;
}

/** @param least kills, so that one that is never reached is noticed */
function outboxKills(open: () => Promise<Killable>, least: number): void {
  test.each(["refused", "result_lost"] as const)(
    "killed at every write (%s), nothing is lost, and nothing is told twice with another id",
    async (fate) => {
      let kills = 0;
      for (let wasKilled = true; wasKilled; kills++) {
        await using killable = await open();
        wasKilled = await runWithKill(killable, fate, kills);
      }
      expect(kills).toBeGreaterThan(least);
    },
  );
}

describe("SQLite", () => {
  outboxKills(async () => {
    const store = openStore(":memory:");
    const killed = (decide: Decide): Store => Object.assign(failingStore(store), { fate: decide }).store;
    return { store, killed, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
  }, 9);
});

const reason = await postgresUnavailableReason();

// Here at each statement of a transaction, too, and at its commit.
describe.skipIf(reason !== undefined)(`PostgreSQL${reason === undefined ? "" : ` (${reason})`}`, () => {
  let databases: PostgresDatabases;
  let pool: PostgresPool;
  let database: Awaited<ReturnType<PostgresDatabases["take"]>>;
  beforeAll(async () => {
    databases = await PostgresDatabases.start();
    database = await databases.take();
    pool = new PostgresPool(database.options);
  });
  afterAll(async () => {
    await pool[Symbol.asyncDispose]();
    await databases[Symbol.asyncDispose]();
  });

  outboxKills(async () => {
    await database.empty();
    const killed = (decide: Decide): Store => postgresStoreOn(killedInTransactions(pool, decide));
    return { store: postgresStoreOn(pool), killed, [Symbol.asyncDispose]: async () => undefined };
  }, 9);
});
