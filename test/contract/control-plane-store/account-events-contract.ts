import { expect, test } from "vitest";
import type { AccountEvent } from "../../../src/protocol/assets/account-event.ts";
import { appendEvent } from "../../../src/control-plane/core/event-log.ts";
import { fail } from "../../../src/control-plane/core/transitions.ts";
import { reasonsOfBits } from "../../../src/control-plane/core/attention.ts";
import type { StoredAccountEvent } from "../../../src/control-plane/store/account-events.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { someApp, someFacts } from "../../support/control-plane/device-samples.ts";
import { receivedDeployment, SENDING, T0 } from "../../support/deployment-record.ts";
import {
  ACCOUNT,
  describeDomain,
  openWithAccounts,
  register,
  SOME_TIME,
  someAsset,
  type StoreHarness,
  TWO_ACCOUNTS,
} from "./harness.ts";
import { createDeployment, updateDeployment } from "../../support/store-deployment.ts";

const sessionOf = (assetUuid: string, instanceId = "ins_1") => ({
  assetUuid,
  sessionId: "session",
  instanceId,
  protocol: 3,
  agentVersion: "1.2.3",
  at: 500,
});

const join = (store: Store, id = "ins_1", leaseUntilMs = SOME_TIME.serviceNowMs + 1) =>
  store.instances.join({ id, version: "1", startedAtMs: 0, leaseUntilMs, nowMs: 0 });

async function readAll(store: Store, accountId: string, after = 0): Promise<StoredAccountEvent[]> {
  const events: StoredAccountEvent[] = [];
  for (let cursor = after; ;) {
    const page = await store.accountEvents.read(accountId, cursor, 3);
    events.push(...page.events);
    if (!page.hasMore) return events;
    cursor = page.events.at(-1)?.id ?? cursor;
  }
}

const typesOf = (events: readonly StoredAccountEvent[]): readonly AccountEvent["type"][] =>
  events.map(({ event }) => event.type);

async function stateOf(store: Store, uuid: string) {
  const found = await store.assets.findAssetWithState(ACCOUNT, uuid, SOME_TIME);
  if (!found) throw new Error(`there is no asset ${uuid}`);
  const { isConnected, lastSeenAt, agentVersion, reasonBits } = found.state;
  return { isConnected, lastSeenAt, agentVersion, reasons: reasonsOfBits(reasonBits) };
}

/** Contract of stores for the events of accounts, and for the states of assets that are written with them. */
export function accountEventsContract(harness: StoreHarness): void {
  describeDomain("account events", harness, () => {
    test("each is read once, in the order of ids that only rise, while others are written", async () => {
      await using store = await openWithAccounts(harness);
      await join(store);
      const assets = [];
      for (let index = 0; index < 12; index++) {
        const accountId = TWO_ACCOUNTS[index % 2] ?? ACCOUNT;
        assets.push(await register(store, someAsset({ accountId })));
      }
      const { lastId } = await store.accountEvents.read(ACCOUNT, Number.MAX_SAFE_INTEGER, 1);
      let isDone = false;
      /** Reads as a client does, until everything was written. */
      const follow = async (limit: number): Promise<StoredAccountEvent[]> => {
        const seen: StoredAccountEvent[] = [];
        for (let cursor = lastId; ;) {
          const wasDone = isDone;
          const page = await store.accountEvents.read(ACCOUNT, cursor, limit);
          seen.push(...page.events);
          cursor = page.events.at(-1)?.id ?? cursor;
          if (wasDone && page.events.length === 0 && !page.hasMore) return seen;
          await new Promise(setImmediate);
        }
      };
      const readers = [1, 2, 7].map(follow);
      await Promise.all(
        assets.map(async ({ uuid }) => {
          for (let round = 0; round < 4; round++) {
            const opened = await store.sessions.open(sessionOf(uuid));
            await store.assets.describeAsset(uuid, { name: `name ${round}` });
            await store.sessions.close({ assetUuid: uuid, epoch: opened?.epoch ?? 0 }, 501, "lost");
          }
        }),
      );
      isDone = true;
      const [first = [], ...others] = await Promise.all(readers);
      expect(first).toHaveLength(6 * 4 * 3);
      for (const other of others) expect(other).toEqual(first);
      const ids = first.map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids).toEqual(ids.toSorted((a, b) => a - b));
      for (const { uuid, accountId } of assets.slice(0, 4)) {
        const own = first.filter(({ event }) => "asset_id" in event && event.asset_id === uuid);
        const round = ["device.connected", "asset.changed", "device.disconnected"];
        expect(typesOf(own)).toEqual(accountId === ACCOUNT ? [...round, ...round, ...round, ...round] : []);
      }
      expect(await readAll(store, ACCOUNT, lastId)).toEqual(first);
    });

    test("ids go on above all others after a start, and a store that is a copy begins anew", async () => {
      await using store = await openWithAccounts(harness);
      await register(store, someAsset());
      const [before] = await readAll(store, ACCOUNT);
      await store.accountEvents.prepare();
      await register(store, someAsset());
      const after = await readAll(store, ACCOUNT, before?.id);
      expect(after).toHaveLength(1);
      expect(after[0]?.id).toBeGreaterThan(before?.id ?? Infinity);
      expect((await store.accountEvents.read(ACCOUNT, 0, 1)).removedTo).toBeLessThanOrEqual(before?.id ?? 0);
      await store.accountEvents.startAnew();
      const page = await store.accountEvents.read(ACCOUNT, 0, 10);
      expect(page.events).toEqual([]);
      expect(page.removedTo).toBeGreaterThanOrEqual(after[0]?.id ?? Infinity);
      expect(page.lastId).toBeGreaterThanOrEqual(page.removedTo);
      await register(store, someAsset());
      expect((await readAll(store, ACCOUNT, page.lastId)).map(({ id }) => id > page.lastId)).toEqual([true]);
      const [kept] = (await store.accountEvents.read(ACCOUNT, page.lastId, 1)).events;
      expect(await store.accountEvents.prune(kept?.atMs ?? 0)).toBe(0);
      expect(await readAll(store, ACCOUNT, page.lastId)).toHaveLength(1);
      expect(await store.accountEvents.prune((kept?.atMs ?? 0) + 1)).toBe(0);
      expect(await readAll(store, ACCOUNT, page.lastId)).toEqual([]);
    });

    test("a change that is refused or rolled back has none", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid, serialNumber } = await register(store, someAsset());
      const { lastId } = await store.accountEvents.read(ACCOUNT, Number.MAX_SAFE_INTEGER, 1);
      const result = await store.assets.registerAsset(someAsset({ serialNumber }), new Uint8Array([9]));
      expect(result.ok).toBe(false);
      await store.sessions.close({ assetUuid: uuid, epoch: 7 }, 1, "lost");
      await store.assets.describeAsset("unknown", { name: "x" });
      expect(await readAll(store, ACCOUNT, lastId)).toEqual([]);
    });
  });

  describeDomain("states of assets", harness, () => {
    test("a device is connected while a session is held by an instance whose lease is valid", async () => {
      await using store = await openWithAccounts(harness);
      await join(store);
      await join(store, "ins_dead", SOME_TIME.serviceNowMs);
      const [one, dead, never] = [
        await register(store, someAsset()),
        await register(store, someAsset()),
        await register(store, someAsset()),
      ];
      const opened = await store.sessions.open(sessionOf(one.uuid));
      await store.sessions.open(sessionOf(dead.uuid, "ins_dead"));
      const connected = { isConnected: true, lastSeenAt: 500, agentVersion: "1.2.3", reasons: [] };
      expect(await stateOf(store, one.uuid)).toEqual(connected);
      expect(await stateOf(store, dead.uuid)).toEqual({ ...connected, isConnected: false, lastSeenAt: 990 });
      const filter = { status: undefined, type: undefined, text: undefined };
      const listed = async (more: object) =>
        (await store.assets.listAssets(ACCOUNT, { ...filter, ...more }, 10, undefined, SOME_TIME)).assets.map(
          ({ asset }) => asset.uuid,
        );
      expect(await listed({ connected: true })).toEqual([one.uuid]);
      expect(await listed({ connected: false })).toEqual([dead.uuid, never.uuid]);
      expect(await listed({ agentVersion: "1.2.3" })).toEqual([one.uuid, dead.uuid]);
      const counts = await store.assets.countAssets(ACCOUNT, SOME_TIME);
      expect(counts).toMatchObject({ all: 3, connected: 1, neverConnected: 1, attention: 0, reasons: {} });
      // What the sweeper does for a dead instance.
      await store.sessions.end(await store.sessions.listHeld("ins_dead"));
      await store.sessions.close({ assetUuid: one.uuid, epoch: opened?.epoch ?? 0 }, 600, "lost");
      expect(await stateOf(store, one.uuid)).toEqual({ ...connected, isConnected: false, lastSeenAt: 600 });
      const late = { ...SOME_TIME, notSeenBefore: 550 };
      expect(await store.assets.countAssets(ACCOUNT, late)).toMatchObject({ attention: 1, reasons: { not_seen: 1 } });
      const { assets: notSeen } = await store.assets.listAssets(
        ACCOUNT,
        { ...filter, attention: "any" },
        10,
        undefined,
        late,
      );
      expect(notSeen.map(({ asset }) => asset.uuid)).toEqual([dead.uuid]);
      expect(typesOf(await readAll(store, ACCOUNT)).slice(3)).toEqual([
        "device.connected",
        "device.connected",
        "device.disconnected",
        "device.disconnected",
      ]);
    });

    test("a device whose instance has died was seen when that renewed its lease, before its session is ended", async () => {
      await using store = await openWithAccounts(harness);
      // In service time, which is 50 s behind the time of day.
      const time = { now: 100_000, notSeenBefore: 90_000, serviceNowMs: 99_950_000 };
      await join(store, "ins_dead", 99_945_000);
      await join(store, "ins_long_dead", 89_900_000);
      const [one, other, late] = [
        await register(store, someAsset()),
        await register(store, someAsset()),
        await register(store, someAsset()),
      ];
      await store.sessions.open(sessionOf(one.uuid, "ins_dead"));
      await store.sessions.open(sessionOf(other.uuid, "ins_long_dead"));
      // By an instance that was paused meanwhile.
      await store.sessions.open({ ...sessionOf(late.uuid, "ins_dead"), at: 99_990 });
      const budget = { monthly_bytes: null, daily_bytes: 1, used_this_month_bytes: 1, used_today_bytes: 1 };
      for (const { uuid } of [one, other])
        await store.devices.updateLedger(uuid, () => ({ value: { days: [], deployments: [], budget }, at: 500 }));
      const filter = { status: undefined, type: undefined, text: undefined };
      for (const attention of [undefined, "not_seen", "any"] as const) {
        const { assets: listed } = await store.assets.listAssets(
          ACCOUNT,
          { ...filter, attention },
          10,
          undefined,
          time,
        );
        expect(listed.map(({ asset, state }) => [asset.uuid, state.lastSeenAt])).toEqual(
          attention === undefined
            ? [
                [one.uuid, 99_985],
                [other.uuid, 89_940],
                [late.uuid, 99_990],
              ]
            : [[other.uuid, 89_940]],
        );
      }
      const found = await store.assets.findAssetWithState(ACCOUNT, one.uuid, time);
      expect(found?.state).toMatchObject({ isConnected: false, lastSeenAt: 99_985 });
      const counts = await store.assets.countAssets(ACCOUNT, time);
      expect(counts).toMatchObject({ connected: 0, attention: 1, reasons: { not_seen: 1 } });
      const before = await store.assets.countAssets(ACCOUNT, { ...time, notSeenBefore: 89_000 });
      expect(before).toMatchObject({ attention: 0, reasons: {} });
    });

    test("events tell the attention of their time: without a spent budget that is over, with what a deployment changes", async () => {
      await using store = await openWithAccounts(harness);
      await join(store);
      const { uuid } = await register(store, someAsset());
      const { epoch = 0 } = (await store.sessions.open(sessionOf(uuid))) ?? {};
      const budget = { monthly_bytes: null, daily_bytes: 1, used_this_month_bytes: 1, used_today_bytes: 1 };
      await store.devices.updateLedger(uuid, () => ({ value: { days: [], deployments: [], budget }, at: 900 }));
      const save = (hash: string, base: string | undefined, at: number) =>
        store.devices.replaceReport(
          uuid,
          base,
          { value: { hash, apps: [someApp("web", { state: "missing" })], device: undefined }, at },
          { assetUuid: uuid, epoch },
        );
      await save("h1", undefined, 1_000);
      await save("h2", "h1", 2 * 86_400);
      const deployment = receivedDeployment({ accountId: ACCOUNT, assetUuid: uuid });
      const { lastEvent: first } = deployment;
      if (!first) throw new Error("there is no first event");
      const initial = { ...deployment, lastSeq: 0, lastEvent: undefined, eventBytes: 0 };
      await createDeployment(store.deployments, initial, first, undefined, undefined, () => ({
        fields: { state: { kind: "waiting", sendingSinceMs: undefined } },
      }));
      await updateDeployment(store.deployments, "dep_1", () => ({ fields: { state: SENDING } }));
      await updateDeployment(store.deployments, "dep_1", (current) => fail(current, T0 + 5, "InsufficientDisk"));
      const told = (await readAll(store, ACCOUNT)).flatMap(({ event }) =>
        "attention" in event ? [[event.type, event.attention]] : [],
      );
      expect(told).toEqual([
        ["device.reported", ["data_budget_spent"]],
        ["device.reported", ["app_missing", "data_budget_spent"]],
        ["device.reported", ["app_missing"]],
        ["deployment.started", ["app_missing", "update_waiting"]],
        ["deployment.moved", ["app_missing"]],
        ["deployment.ended", ["app_missing", "deployment_failed", "disk_low"]],
      ]);
    });

    test("the disk is low by the report that tells about it, otherwise by the deployment that ended last", async () => {
      await using store = await openWithAccounts(harness);
      await join(store);
      const { uuid } = await register(store, someAsset());
      let base: string | undefined;
      const report = async (disk: { disk_low?: boolean }) => {
        const hash = `${base}.`;
        const value = { hash, apps: [], device: someFacts(disk) };
        expect(await store.devices.replaceReport(uuid, base, { value, at: 5 })).toBe(true);
        base = hash;
        return (await stateOf(store, uuid)).reasons;
      };
      expect(await report({ disk_low: true })).toEqual(["disk_low"]);
      expect(await report({ disk_low: false })).toEqual([]);
      const deployment = receivedDeployment({ accountId: ACCOUNT, assetUuid: uuid });
      const { lastEvent: first } = deployment;
      if (!first) throw new Error("there is no first event");
      const initial = { ...deployment, lastSeq: 0, lastEvent: undefined, eventBytes: 0 };
      await createDeployment(store.deployments, initial, first);
      await updateDeployment(store.deployments, "dep_1", (current) => fail(current, T0 + 5, "InsufficientDisk"));
      // Of an earlier agent.
      expect(await report({})).toEqual(["deployment_failed", "disk_low"]);
      expect(await report({ disk_low: false })).toEqual(["deployment_failed"]);
      expect(await report({ disk_low: true })).toEqual(["deployment_failed", "disk_low"]);
      expect(await report({})).toEqual(["deployment_failed", "disk_low"]);
      const told = (await readAll(store, ACCOUNT)).at(-1)?.event;
      expect(told).toMatchObject({ attention: ["deployment_failed", "disk_low"] });
      const counts = await store.assets.countAssets(ACCOUNT, SOME_TIME);
      expect(counts).toMatchObject({ attention: 1, reasons: { deployment_failed: 1, disk_low: 1 } });
    });

    test("a check that fails is no failure of the asset, and one that succeeds does not end a failure", async () => {
      await using store = await openWithAccounts(harness);
      await join(store);
      const { uuid } = await register(store, someAsset());
      const end = async (id: string, isDryRun: boolean, fails: boolean) => {
        const options = isDryRun ? { dry_run: true } : {};
        const deployment = receivedDeployment({ id, accountId: ACCOUNT, assetUuid: uuid, options });
        const { lastEvent: first } = deployment;
        if (!first) throw new Error("there is no first event");
        const initial = { ...deployment, lastSeq: 0, lastEvent: undefined, eventBytes: 0 };
        await createDeployment(store.deployments, initial, first);
        await updateDeployment(store.deployments, id, (current) =>
          fails
            ? fail(current, T0 + 5, "ImagePullBackOff")
            : appendEvent(current, { status: "Success", message: "Done.", step: "done" }, T0 + 5),
        );
        return (await stateOf(store, uuid)).reasons;
      };
      expect(await end("dep_1", true, true)).toEqual([]);
      expect(await end("dep_2", false, true)).toEqual(["deployment_failed"]);
      expect(await end("dep_3", true, false)).toEqual(["deployment_failed"]);
      expect(await end("dep_4", false, false)).toEqual([]);
    });

    test("a deployment that ends as it is stored has failed, and its account is told of both", async () => {
      await using store = await openWithAccounts(harness);
      await join(store);
      const { uuid } = await register(store, someAsset());
      const { lastId } = await store.accountEvents.read(ACCOUNT, Number.MAX_SAFE_INTEGER, 1);
      const deployment = receivedDeployment({ accountId: ACCOUNT, assetUuid: uuid });
      const { lastEvent: first } = deployment;
      if (!first) throw new Error("there is no first event");
      const initial = { ...deployment, lastSeq: 0, lastEvent: undefined, eventBytes: 0 };
      await createDeployment(store.deployments, initial, first, undefined, undefined, (stored) =>
        fail(stored, T0, "DeviceNotReachable"),
      );
      expect(await stateOf(store, uuid)).toMatchObject({ reasons: ["deployment_failed"] });
      const about = { asset_id: uuid, deployment_id: "dep_1", attention: ["deployment_failed"] };
      expect((await readAll(store, ACCOUNT, lastId)).map(({ event }) => event)).toMatchObject([
        { ...about, type: "deployment.started" },
        { ...about, type: "deployment.ended", status: "Fail", code: "DeviceNotReachable" },
      ]);
    });

    test("reasons follow from the report, the deployments and the data budget, each by itself", async () => {
      await using store = await openWithAccounts(harness);
      await join(store);
      const { uuid } = await register(store, someAsset());
      const { epoch = 0 } = (await store.sessions.open(sessionOf(uuid))) ?? {};
      const apps = [someApp("web", { state: "unhealthy" }), someApp("db", { state: "missing" })];
      const report = { value: { hash: "h1", apps, device: undefined }, at: 1 };
      expect(await store.devices.replaceReport(uuid, undefined, report, { assetUuid: uuid, epoch })).toBe(true);
      const deployment = receivedDeployment({ accountId: ACCOUNT, assetUuid: uuid });
      const [initial, first] = [
        { ...deployment, lastSeq: 0, lastEvent: undefined, eventBytes: 0 },
        deployment.lastEvent,
      ];
      if (!first) throw new Error("there is no first event");
      await createDeployment(store.deployments, initial, first, undefined, undefined, () => ({
        fields: { state: { kind: "waiting", sendingSinceMs: undefined } },
      }));
      const waiting = ["app_missing", "app_unhealthy", "update_waiting"];
      expect(await stateOf(store, uuid)).toMatchObject({ reasons: waiting });
      await updateDeployment(store.deployments, "dep_1", (current) => fail(current, T0 + 5, "InsufficientDisk"));
      const failed = ["app_missing", "app_unhealthy", "deployment_failed", "disk_low"];
      expect(await stateOf(store, uuid)).toMatchObject({ reasons: failed });
      const budget = { monthly_bytes: 10, daily_bytes: null, used_this_month_bytes: 10, used_today_bytes: 1 };
      await store.devices.updateLedger(uuid, () => ({ value: { days: [], deployments: [], budget }, at: 900 }));
      expect(await stateOf(store, uuid)).toMatchObject({ reasons: [...failed, "data_budget_spent"] });
      const counts = await store.assets.countAssets(ACCOUNT, SOME_TIME);
      expect(counts).toMatchObject({
        attention: 1,
        runningDeployments: 0,
        reasons: { disk_low: 1, data_budget_spent: 1 },
      });
      // In the next month.
      const later = await store.assets.countAssets(ACCOUNT, { ...SOME_TIME, now: 40 * 86_400 });
      expect(later.reasons).not.toHaveProperty("data_budget_spent");
      const healthy = { value: { hash: "h2", apps: [], device: undefined }, at: 2 };
      await store.devices.replaceReport(uuid, "h1", healthy, { assetUuid: uuid, epoch });
      expect(await stateOf(store, uuid)).toMatchObject({
        reasons: ["deployment_failed", "disk_low", "data_budget_spent"],
      });
      const events = await readAll(store, ACCOUNT);
      expect(typesOf(events).slice(2)).toEqual([
        "device.reported",
        "deployment.started",
        "deployment.ended",
        "device.reported",
        "device.reported",
      ]);
      expect(events[2]?.event).toMatchObject({ attention: ["app_missing", "app_unhealthy"] });
      expect(events.at(-1)?.event).toMatchObject({
        attention: ["deployment_failed", "disk_low", "data_budget_spent"],
      });
    });
  });
}
