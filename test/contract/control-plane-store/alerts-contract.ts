import { expect, test } from "vitest";
import { NO_HABITS } from "../../../src/control-plane/core/alerts/habits.ts";
import type { Asset } from "../../../src/control-plane/core/asset.ts";
import { type AlertTime, MAX_SCANNED_ALERTS } from "../../../src/control-plane/store/alerts.ts";
import type { HealthSpreads } from "../../../src/protocol/link/health-points.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import type { RolloutFields } from "../../../src/control-plane/core/fleets/rollout.ts";
import { rolloutStrategySchema } from "../../../src/protocol/fleets/rollout-strategy.ts";
import { SOMEBODY } from "../../support/control-plane/fleets.ts";
import { putChannel } from "../../support/alerts/put-settings.ts";
import { someAudit as audit } from "../../support/control-plane/people.ts";
import { someSuperSim } from "../../support/control-plane/sims.ts";
import { assignment, NOW, opening, say, someChannel } from "./alert-records.ts";
import {
  ACCOUNT,
  describeDomain,
  openWithAccounts,
  register,
  someAsset,
  type StoreHarness,
  TWO_ACCOUNTS,
} from "./harness.ts";
import { prepareRollout } from "./rollouts-contract.ts";

const STRANGER = TWO_ACCOUNTS[1];

const time = (fields: Partial<AlertTime> = {}): AlertTime => ({
  nowMs: NOW,
  awayBeforeMs: NOW,
  outage: { fromMs: 0, untilMs: 0 },
  thresholds: new Map(),
  ...fields,
});

/** Connects the device of the asset, and lets it be gone since a time. @param lastSeen Unix seconds */
async function goAway(store: Store, { uuid }: Asset, lastSeen: number): Promise<void> {
  const { sessions } = store;
  const opened = await sessions.open({
    assetUuid: uuid,
    instanceId: "ins_1",
    sessionId: `ses_${uuid}`,
    protocol: 1,
    at: lastSeen,
    agentVersion: "1.0.0",
  });
  if (!opened) throw new Error("the session was not opened");
  await sessions.close({ assetUuid: uuid, epoch: opened.epoch }, lastSeen, "lost");
}

const heated = (celsius: number): HealthSpreads => ({
  temperature_celsius: [0, celsius, 200],
  cpu_percent: [1, 1, 1],
});

/** Contract of stores for alerts. */
export function alertsContract(harness: StoreHarness): void {
  describeDomain("alerts", harness, () => {
    test("of each condition and subject one is open; it is resolved once, and listed newest first", async () => {
      await using store = await openWithAccounts(harness);
      const { alerts } = store;
      const [mine, strange] = [
        await register(store, someAsset()),
        await register(store, someAsset({ accountId: STRANGER })),
      ];
      await alerts.change(STRANGER, [opening(strange)], ["alr_s"], NOW);
      await alerts.change(ACCOUNT, [opening(mine), opening(mine)], ["alr_1", "alr_2"], NOW);
      const pending = opening(mine, { condition: "app_missing", state: "pending", firedAtMs: undefined });
      await alerts.change(ACCOUNT, [pending], ["alr_3"], NOW);
      const isOpen = await alerts.listOpen(ACCOUNT, 100);
      expect(isOpen.map(({ id, state, firedAtMs }) => [id, state, firedAtMs])).toEqual([
        ["alr_3", "pending", undefined],
        ["alr_1", "firing", NOW],
      ]);
      expect(await alerts.listOpen(ACCOUNT, 1)).toEqual(isOpen.slice(0, 1));
      expect(await alerts.listOpen(ACCOUNT, 1, isOpen[0])).toEqual(isOpen.slice(1));
      expect(await alerts.listOpen(ACCOUNT, 1, isOpen[1])).toEqual([]);
      // Nobody is told of what is pending.
      expect((await alerts.list(ACCOUNT, { state: "firing" }, 10)).alerts.map(({ id }) => id)).toEqual(["alr_1"]);
      const clear = { kind: "clear", id: "alr_3", clearSinceMs: NOW + 1 } as const;
      await alerts.change(ACCOUNT, [{ kind: "fire", id: "alr_3", severity: "info" }, clear], [], NOW + 5);
      expect(await alerts.countFiring(ACCOUNT)).toEqual({ firing: 2, unacknowledged: 2 });
      const [fired] = await alerts.listOpen(ACCOUNT, 100);
      expect(fired).toMatchObject({ severity: "info", firedAtMs: NOW + 5, clearSinceMs: NOW + 1, routeIds: [] });
      expect(fired?.subject).toEqual({
        kind: "asset",
        id: mine.uuid,
        name: mine.name,
        type: "gateway",
        tags: new Map(),
      });
      await alerts.change(
        ACCOUNT,
        [
          { kind: "resolve", id: "alr_1" },
          { kind: "drop", id: "alr_3" },
        ],
        [],
        NOW + 9,
      );
      await alerts.change(ACCOUNT, [{ kind: "resolve", id: "alr_1" }], [], NOW + 99);
      expect(
        (await alerts.list(ACCOUNT, { state: "resolved" }, 10)).alerts.map(({ id, resolvedAtMs }) => [
          id,
          resolvedAtMs,
        ]),
      ).toEqual([["alr_1", NOW + 9]]);
      expect((await alerts.listOpen(ACCOUNT, 100)).map(({ id }) => id)).toEqual(["alr_3"]);
      await alerts.change(ACCOUNT, [opening(mine)], ["alr_4"], NOW + 100);
      expect(await alerts.countFiring(ACCOUNT)).toEqual({ firing: 2, unacknowledged: 2 });
      expect(await alerts.listAccounts(NOW, "", 10)).toEqual([ACCOUNT, STRANGER]);
    });

    test("they are filtered, and paged by the time at which they fired", async () => {
      await using store = await openWithAccounts(harness);
      const { alerts } = store;
      const assets = [await register(store, someAsset()), await register(store, someAsset())];
      for (const [at, asset] of assets.entries()) {
        const fields = { firedAtMs: NOW + at, condition: at === 0 ? "disk_low" : "device_offline" } as const;
        await alerts.change(ACCOUNT, [opening(asset, fields)], [`alr_${at}`], NOW);
      }
      const ids = async (filter: object, after?: { firedAtMs: number; id: string }) =>
        (await alerts.list(ACCOUNT, { state: "firing", ...filter }, 10, after)).alerts.map(({ id }) => id);
      expect(await ids({})).toEqual(["alr_1", "alr_0"]);
      expect(await ids({}, { firedAtMs: NOW + 1, id: "alr_1" })).toEqual(["alr_0"]);
      expect(await ids({ condition: "disk_low", severity: "critical" })).toEqual(["alr_0"]);
      expect(await ids({ subjectId: assets[1]?.uuid })).toEqual(["alr_1"]);
      expect(await ids({ severity: "info" })).toEqual([]);
      expect(await ids({ groupId: "grp_none" })).toEqual([]);
      await store.assetSettings.changeTags(
        assets[0]?.uuid ?? "",
        new Map([["role", "kiosk"]]),
        false,
        audit("asset.tagged"),
      );
      const selector = [{ op: "in", key: "role", values: ["kiosk"] }] as const;
      expect(await ids({ selector })).toEqual(["alr_0"]);
      expect(await ids({ selector: [] })).toEqual(["alr_1", "alr_0"]);
      const first = await alerts.list(ACCOUNT, { state: "firing" }, 1);
      expect([first.alerts.length, first.next]).toEqual([1, { firedAtMs: NOW + 1, id: "alr_1" }]);
      expect((await alerts.list(ACCOUNT, { state: "firing" }, 1, first.next)).next).toBeUndefined();
      expect((await alerts.list(ACCOUNT, { state: "firing" }, 2)).next).toBeUndefined();
    });

    test("a page looks at a bounded number of alerts, and the next one goes on behind them", async () => {
      await using store = await openWithAccounts(harness);
      const { alerts } = store;
      const asset = await register(store, someAsset());
      const about = (at: number) =>
        ({
          subject: { kind: "asset", id: at === 0 ? asset.uuid : `gone-${at}`, name: "GW" } as const,
          condition: at === 0 ? "disk_low" : "device_offline",
          firedAtMs: NOW + at,
        }) as const;
      const changes = Array.from({ length: MAX_SCANNED_ALERTS + 1 }, (_, at) => opening(asset, about(at)));
      const ids = changes.map((_, at) => `alr_${String(at).padStart(5, "0")}`);
      await alerts.change(ACCOUNT, changes, ids, NOW);
      const filter = { state: "firing", condition: "disk_low" } as const;
      const first = await alerts.list(ACCOUNT, filter, 10);
      expect(first).toEqual({ alerts: [], next: { firedAtMs: NOW + 1, id: "alr_00001" } });
      const { alerts: found, next } = await alerts.list(ACCOUNT, filter, 10, first.next);
      expect([found.map(({ id }) => id), next]).toEqual([["alr_00000"], undefined]);
      // By an index, whatever was about other assets.
      expect((await alerts.list(ACCOUNT, { ...filter, subjectId: asset.uuid }, 10)).alerts).toHaveLength(1);
    });

    test("the account's own are acknowledged once, by id or as a group, with an entry in the audit log", async () => {
      await using store = await openWithAccounts(harness);
      const { alerts, alertOutbox } = store;
      const assets = [await register(store, someAsset()), await register(store, someAsset())];
      await alerts.change(
        ACCOUNT,
        assets.map((asset) => opening(asset)),
        ["alr_1", "alr_2"],
        NOW,
      );
      await alertOutbox.assign(ACCOUNT, [assignment("alr_2")], NOW);
      const by = (accountId: string, of: { ids: string[] } | { groupId: string }) =>
        alerts.acknowledge(accountId, of, NOW + 1, "Ada", audit("alert.acknowledged"));
      expect(await by(STRANGER, { ids: ["alr_1"] })).toBe(0);
      expect(await by(STRANGER, { groupId: "grp_1" })).toBe(0);
      expect(await by(ACCOUNT, { ids: ["alr_1", "alr_none"] })).toBe(1);
      expect(await by(ACCOUNT, { ids: ["alr_1"] })).toBe(0);
      expect(await by(ACCOUNT, { groupId: "grp_1" })).toBe(1);
      const has = [alertOutbox.hasGroup(ACCOUNT, "grp_1"), alertOutbox.hasGroup(STRANGER, "grp_1")];
      expect(await Promise.all(has)).toEqual([true, false]);
      const found = [alerts.find(ACCOUNT, "alr_1"), alerts.find(STRANGER, "alr_1")];
      expect((await Promise.all(found)).map((alert) => alert?.id)).toEqual(["alr_1", undefined]);
      expect(
        (await alerts.listOpen(ACCOUNT, 100)).map(({ isAcknowledged, routeIds }) => [isAcknowledged, routeIds]),
      ).toEqual([
        [true, []],
        [true, ["night"]],
      ]);
      expect((await alerts.list(ACCOUNT, { state: "firing", groupId: "grp_1" }, 9)).alerts[0]).toMatchObject({
        acknowledgedAtMs: NOW + 1,
        acknowledgedBy: "Ada",
      });
    });

    test("what holds is found: devices that are away, that flap, and reasons for attention", async () => {
      await using store = await openWithAccounts(harness);
      const { alerts, assetSettings } = store;
      const [away, recent, flapping, spent, strange] = [
        await register(store, someAsset()),
        await register(store, someAsset()),
        await register(store, someAsset()),
        await register(store, someAsset({ supersim: someSuperSim() })),
        await register(store, someAsset({ accountId: STRANGER })),
      ];
      expect(await alerts.listAccounts(NOW, "", 10)).toEqual([]);
      await assetSettings.changeTags(away.uuid, new Map([["role", "kiosk"]]), false, audit("asset.tagged"));
      const awayS = NOW / 1000 - 3600;
      await goAway(store, away, awayS);
      await goAway(store, recent, NOW / 1000);
      await goAway(store, strange, awayS);
      const habits = { ...NO_HABITS, epoch: 3, levelAtMs: NOW, level: 12.5, flapsUntilMs: NOW + 1 };
      await alerts.saveHabits([
        { assetUuid: flapping.uuid, habits },
        { assetUuid: "00000000-0000-4000-8000-00000000ffff", habits },
      ]);
      const found = async (at: AlertTime, limit = 10) => {
        const { observed } = await alerts.observeAssets(ACCOUNT, at, "", limit);
        return observed.map(({ condition, subject, sinceMs, isAway }) => [condition, subject.id, sinceMs, isAway]);
      };
      const at = time({ awayBeforeMs: NOW - 60_000 });
      expect(await found(at)).toEqual([
        ["device_offline", away.uuid, awayS * 1000, true],
        ["device_flapping", flapping.uuid, undefined, true],
      ]);
      expect(await found(time({ nowMs: NOW + 1, awayBeforeMs: NOW - 60_000 }))).toHaveLength(1);
      // The service was absent when the device was seen last.
      expect(await found({ ...at, outage: { fromMs: awayS * 1000, untilMs: NOW } })).toEqual([
        ["device_flapping", flapping.uuid, undefined, true],
      ]);
      const page = await alerts.observeAssets(ACCOUNT, at, "", 1);
      expect([page.last, page.observed[0]?.subject.tags?.get("role")]).toEqual([away.uuid, "kiosk"]);
      expect((await alerts.observeAssets(ACCOUNT, at, away.uuid, 10)).observed).toHaveLength(1);
      expect(await alerts.listAccounts(NOW, "", 10)).toEqual([ACCOUNT, STRANGER]);
      expect(await alerts.listAccounts(NOW, ACCOUNT, 10)).toEqual([STRANGER]);
      await store.dataPlans.recordFinding(spent.uuid, "supersim", { state: "spent", until: 9e9 }, NOW, NOW / 1000);
      expect((await found(at)).at(-1)).toEqual(["data", spent.uuid, undefined, true]);
    });

    test("what a connected device measures above a limit is looked at, with the levels of the last hours", async () => {
      await using store = await openWithAccounts(harness);
      const { alerts, health, sessions } = store;
      const [hot, full, strange] = [
        await register(store, someAsset()),
        await register(store, someAsset()),
        await register(store, someAsset({ accountId: STRANGER })),
      ];
      const newest = NOW / 1000 - 1_800;
      const row = (quarters: number, spreads: HealthSpreads) => ({ at: newest - quarters * 900, spreads });
      for (const { uuid } of [hot, full, strange])
        await sessions.open({ assetUuid: uuid, instanceId: "ins_1", sessionId: uuid, protocol: 1, at: newest });
      for (const { uuid } of [hot, strange]) {
        await health.addRows(uuid, [row(30, heated(99)), row(2, heated(50))]);
        await health.addRows(uuid, [row(1, heated(82)), row(0, heated(85))]);
      }
      await health.addRows(full.uuid, [
        row(1, { memory_percent: [99, 99, 99] }),
        row(0, { disk_percent: [1, 91, 99] }),
      ]);
      expect(await alerts.listAccounts(NOW, "", 10)).toEqual([ACCOUNT, STRANGER]);
      const found = async (thresholds: AlertTime["thresholds"], nowMs = NOW) => {
        const { observed } = await alerts.observeAssets(ACCOUNT, time({ awayBeforeMs: 0, nowMs, thresholds }), "", 10);
        return observed.map(({ condition, subject, isAway, levels }) => [condition, subject.id, isAway, levels]);
      };
      const level = (quarters: number, value: number) => {
        const fromMs = (newest - quarters * 900) * 1000;
        return { fromMs, untilMs: fromMs + 900_000, value };
      };
      const heat = ["temperature_high", hot.uuid, false, [level(2, 50), level(1, 82), level(0, 85)]];
      expect(await found(new Map([["temperature_celsius", 84]]))).toEqual([heat]);
      expect(await found(new Map([["temperature_celsius", 85]]))).toEqual([]);
      const all = new Map([
        ["temperature_celsius", 80] as const,
        ["disk_percent", 90] as const,
        ["memory_percent", 90] as const,
      ]);
      expect(await found(all)).toEqual([heat, ["disk_high", full.uuid, false, [level(0, 91)]]]);
      expect(await found(new Map())).toEqual([]);
      // A device that sends nothing any more is not judged by what it sent a day ago.
      expect(await found(all, NOW + 27 * 3_600_000)).toEqual([]);
    });

    test("a device is looked at again when it has another session, has gone or is back", async () => {
      await using store = await openWithAccounts(harness);
      const { alerts } = store;
      const device = await register(store, someAsset());
      expect(await alerts.listChangedDevices("", 10)).toEqual([]);
      await goAway(store, device, 1_000);
      const [changed] = await alerts.listChangedDevices("", 10);
      expect(changed).toEqual({
        assetUuid: device.uuid,
        sample: { epoch: expect.any(Number) as number, awaySinceMs: 1_000_000 },
        habits: NO_HABITS,
      });
      const habits = {
        epoch: changed?.sample.epoch,
        level: 1.25,
        levelAtMs: NOW,
        flapsUntilMs: 0,
        awaySinceMs: 1_000_000,
        pauses: [[NOW, 5] as const],
      };
      await alerts.saveHabits([{ assetUuid: device.uuid, habits }]);
      expect(await alerts.listChangedDevices("", 10)).toEqual([]);
      await goAway(store, device, 2_000);
      expect((await alerts.listChangedDevices("", 10))[0]?.habits).toEqual(habits);
      expect(await alerts.listChangedDevices(device.uuid, 10)).toEqual([]);
    });

    test("the last round is on record", async () => {
      await using store = await openWithAccounts(harness);
      expect(await store.alerts.readRound()).toEqual({ lastAtMs: 0, fromMs: 0, untilMs: 0 });
      await store.alerts.saveRound({ lastAtMs: NOW, fromMs: 1, untilMs: 2 });
      expect(await store.alerts.readRound()).toEqual({ lastAtMs: NOW, fromMs: 1, untilMs: 2 });
    });

    test("keys that expire soon and channels that were given up are found", async () => {
      await using store = await openWithAccounts(harness);
      const { alerts, alertOutbox, keys } = store;
      const day = 86_400;
      const now = NOW / 1000;
      const key = (id: string, createdAt: number, expiresAt: number | undefined) =>
        keys.createKey(
          {
            id,
            accountId: ACCOUNT,
            name: id,
            createdAt,
            lastUsedAt: undefined,
            revokedAt: undefined,
            permissions: [],
            role: "viewer",
            createdBy: undefined,
            expiresAt,
          },
          Buffer.from(id),
        );
      await key("key_soon", now - 90 * day, now + 3 * day);
      await key("key_later", now - 90 * day, now + 30 * day);
      await key("key_short", now - day, now + day);
      await key("key_never", now, undefined);
      await putChannel(store, someChannel());
      await say(store, "msg_1");
      const [claimed] = await alertOutbox.claim("ins_1", NOW, NOW + 9, 10, []);
      if (!claimed) throw new Error("nothing was claimed");
      await alertOutbox.finish(
        claimed,
        "ins_1",
        { state: "failed", dueMs: undefined, failingSinceMs: NOW, disables: true },
        "410",
        NOW + 1,
      );
      const observed = await alerts.observeOthers(ACCOUNT, NOW);
      expect(observed.map(({ condition, subject, sinceMs }) => [condition, subject.id, sinceMs])).toEqual([
        ["key_expiring", "key_soon", undefined],
        ["channel_disabled", "ops", NOW + 1],
      ]);
      expect(await alerts.observeOthers(STRANGER, NOW)).toEqual([]);
    });

    test("rollouts that stopped by themselves are found, and those that wait for people to go on", async () => {
      await using store = await openWithAccounts(harness);
      const { rollout, targets } = await prepareRollout(store, 2);
      const { rollouts, alerts } = store;
      const change = (fields: RolloutFields) => rollouts.commandRollout(rollout.id, () => ({ fields }));
      const found = async () =>
        (await alerts.observeOthers(ACCOUNT, NOW)).map(({ condition, subject }) => [condition, subject.id]);
      const manual = rolloutStrategySchema.parse({ waves: [{ limit: 1, advance: "manual" }] });
      await change({ strategy: manual });
      // Its targets are under way.
      expect(await found()).toEqual([]);
      const fence = { rolloutId: rollout.id, epoch: rollout.epoch };
      const settled = targets.map((before, at) => ({
        before,
        after: { ...before, state: at === 0 ? ("succeeded" as const) : before.state, wave: at },
      }));
      await rollouts.changeTargets(fence, settled);
      expect(await found()).toEqual([["rollout_waiting", rollout.id]]);
      await change({ advanceTo: 1 });
      expect(await found()).toEqual([]);
      await change({ state: "awaiting_approval" });
      expect(await found()).toEqual([["rollout_waiting", rollout.id]]);
      for (const state of ["paused", "rolling_back", "rolled_back", "failed"] as const) {
        const finishedAtMs = state === "failed" || state === "rolled_back" ? NOW : undefined;
        await change({ state, finishedAtMs, stoppedBy: undefined });
        expect(await found()).toEqual([["rollout_stopped", rollout.id]]);
        await change({ stoppedBy: SOMEBODY });
        expect(await found()).toEqual(state === "failed" ? [["rollout_stopped", rollout.id]] : []);
      }
      expect(await rollouts.findRollout(rollout.id)).toMatchObject({ stoppedBy: SOMEBODY });
    });
  });
}
