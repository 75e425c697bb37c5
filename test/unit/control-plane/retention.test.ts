import { commandOf } from "../../support/deployment-record.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Deployment, newDeployment } from "../../../src/control-plane/core/deployment.ts";
import { appendEvent } from "../../../src/control-plane/core/event-log.ts";
import { fail, receivedEvent } from "../../../src/control-plane/core/transitions.ts";
import { AUDIT_RETENTION_S } from "../../../src/control-plane/core/people/audit-actions.ts";
import { Retention } from "../../../src/control-plane/deployments/retention.ts";
import { MIGRATIONS } from "../../../src/control-plane/store/sqlite/migrations.ts";
import { REMOVE_FINISHED_SQL } from "../../../src/control-plane/store/sqlite/deployments.ts";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { openSqlite } from "../../../src/lib/sqlite.ts";
import { type CapturedLog, captureLogText } from "../../support/captured-log.ts";
import { someFleet, someRollout, someRolloutEvent } from "../../support/control-plane/fleets.ts";
import { someAudit } from "../../support/control-plane/people.ts";
import { register, someAsset } from "../../contract/control-plane-store/harness.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { createDeployment, updateDeployment } from "../../support/store-deployment.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const KEEP_MS = 90 * DAY_MS;
const ASSET = "11111111-1111-4111-8111-111111111111";

let clock: FakeClock;
let store: Store;

beforeEach(() => {
  clock = new FakeClock();
  store = openStore(":memory:");
});
afterEach(() => store[Symbol.asyncDispose]());

/** Stores a deployment that is created now, and also ends now unless `unfinished`. */
async function deploy(id: string, unfinished = false): Promise<void> {
  const nowMs = clock.now();
  const deployment: Deployment = newDeployment({
    id,
    accountId: "acc_1",
    assetUuid: ASSET,
    app: "web",
    command: commandOf("deploy", {}),
    options: {},
    hasRegistryAuth: false,
    nowMs,
    timeoutMs: 900_000,
  });
  const first = appendEvent(deployment, receivedEvent(deployment), nowMs)?.event;
  if (!first) throw new Error("a new deployment takes its first event");
  await createDeployment(store.deployments, deployment, first);
  if (!unfinished) await updateDeployment(store.deployments, id, (current) => fail(current, nowMs, "Internal"));
}

const kept = async (): Promise<string[]> =>
  (await store.deployments.listDeployments(ASSET, 1_000)).deployments.map(({ id }) => id).toSorted();

const entries = (log: CapturedLog): unknown[] =>
  log
    .text()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

const acquire = async (): Promise<boolean> => true;

function start(mayRun = acquire) {
  const log = captureLogText();
  const retention = new Retention({
    store,
    clock,
    logger: log.logger,
    acquire: mayRun,
    retentionMs: KEEP_MS,
  });
  return { log, retention };
}

test("a deployment is removed with its events when it has been finished for long enough, an unfinished one never", async () => {
  await deploy("dep_old");
  await deploy("dep_unfinished", true);
  await clock.advance(DAY_MS);
  await deploy("dep_newer");
  const { retention } = start();
  using _retention = retention;
  await clock.advance(KEEP_MS - DAY_MS - HOUR_MS);
  expect(await kept()).toEqual(["dep_newer", "dep_old", "dep_unfinished"]);
  await clock.advance(2 * HOUR_MS);
  expect(await kept()).toEqual(["dep_newer", "dep_unfinished"]);
  expect((await store.deployments.readEvents("dep_old", 0, 10)).events).toEqual([]);
  expect((await store.deployments.readEvents("dep_newer", 0, 10)).events).toHaveLength(2);
  await clock.advance(10 * KEEP_MS);
  expect(await kept()).toEqual(["dep_unfinished"]);
});

test("many deployments are removed in small batches, oldest first, with pauses in between", async () => {
  for (let index = 0; index < 120; index++) await deploy(`dep_${String(index).padStart(3, "0")}`);
  await clock.advance(KEEP_MS + 1);
  const { log, retention } = start();
  using _retention = retention;
  const left: number[] = [];
  for (const ms of [60_000, 999, 1, 1_000]) {
    await clock.advance(ms);
    left.push((await kept()).length);
  }
  expect(left).toEqual([70, 70, 20, 0]);
  expect(entries(log)).toMatchObject([{ msg: "removed old deployments", count: 120 }]);
});

test("old rollouts are removed with their targets, except the newest of each fleet", async () => {
  await store.accounts.createAccount({ id: "acc_1", name: "Waterworks", createdAt: 1 });
  const fleet = someFleet();
  await store.fleets.createFleet(fleet, someAudit("fleet.created"));
  const ids: string[] = [];
  for (const finishedAtMs of [clock.now(), clock.now() + 1, clock.now() + 2]) {
    const rollout = someRollout(fleet, { state: "succeeded", finishedAtMs, isActive: false });
    await store.rollouts.createRollout(rollout, [], someRolloutEvent(rollout), () => ({ fields: {} }));
    ids.push(rollout.id);
  }
  const { retention } = start();
  using _retention = retention;
  const left = async () => (await store.rollouts.listRollouts(fleet.id, 10)).map(({ id }) => id);
  await clock.advance(AUDIT_RETENTION_S * 1000 - DAY_MS);
  expect(await left()).toEqual(ids.toReversed());
  await clock.advance(2 * DAY_MS);
  expect(await left()).toEqual(ids.slice(-1));
});

test("how devices were becomes hours after 14 days, and is removed after thirteen months", async () => {
  await store.accounts.createAccount({ id: "acc_1", name: "Waterworks", createdAt: 1 });
  await register(store, someAsset({ uuid: ASSET }));
  const start0 = Math.ceil(clock.now() / DAY_MS) * 86_400;
  const rows = Array.from({ length: 96 }, (_, index) => ({
    at: start0 + index * 900,
    spreads: { cpu_percent: [index, index, index] as const },
  }));
  await store.health.addRows(ASSET, rows);
  const count = async () => (await store.health.listRows(ASSET, { from: 0, to: 2 ** 33 })).rows.length;
  await clock.advance(1_000 * start0 + 14 * DAY_MS - clock.now());
  const { retention } = start();
  using _retention = retention;
  await clock.advance(HOUR_MS);
  expect(await count()).toBe(96);
  await clock.advance(DAY_MS);
  expect(await count()).toBe(24);
  await clock.advance(380 * DAY_MS);
  expect(await count()).toBe(24);
  await clock.advance(3 * DAY_MS);
  expect(await count()).toBe(0);
});

test("after an error of the store it tries again an hour later", async () => {
  const log = captureLogText();
  const calls: number[] = [];
  const failing = {
    removeFinished: async () => {
      calls.push(clock.monotonic());
      throw new Error("disk I/O error");
    },
  };
  using _retention = new Retention({
    store: { ...store, deployments: failing },
    clock,
    logger: log.logger,
    acquire,
    retentionMs: KEEP_MS,
  });
  await clock.advance(60_000 + HOUR_MS);
  expect(calls).toEqual([60_000, 60_000 + HOUR_MS]);
  expect(entries(log)).toMatchObject([{ level: 50 }, { level: 50 }]);
});

test("nothing happens after it was disposed, also during a round", async () => {
  const answer = Promise.withResolvers<number>();
  const log = captureLogText();
  const slow = { removeFinished: () => answer.promise };
  const retention = new Retention({
    store: { ...store, deployments: slow },
    clock,
    logger: log.logger,
    acquire,
    retentionMs: KEEP_MS,
  });
  await clock.advance(60_000);
  retention[Symbol.dispose]();
  answer.resolve(50);
  await clock.advance(HOUR_MS);
  expect(clock.pending).toBe(0);
});

test("old deployments are found by an index", () => {
  using database = openSqlite(":memory:", { migrations: MIGRATIONS });
  const plan = database.prepare(`EXPLAIN QUERY PLAN ${REMOVE_FINISHED_SQL}`).all();
  const steps = plan.map((row) => String(row["detail"]));
  expect(steps).toContain("SEARCH deployments USING INDEX deployments_finished (finished_at_ms<?)");
  expect(steps.filter((step) => step.startsWith("SCAN"))).toEqual([]);
});

test("an instance that is not to do it removes nothing, until it is", async () => {
  let isHolder = false;
  await deploy("dep_1");
  const { retention } = start(async () => isHolder);
  using _retention = retention;
  await clock.advance(KEEP_MS + 2 * HOUR_MS);
  expect(await kept()).toEqual(["dep_1"]);
  isHolder = true;
  await clock.advance(HOUR_MS);
  expect(await kept()).toEqual([]);
});
