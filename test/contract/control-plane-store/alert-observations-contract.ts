import { expect, test } from "vitest";
import { NO_HABITS } from "../../../src/control-plane/core/alerts/habits.ts";
import type { AlertTime } from "../../../src/control-plane/store/alerts.ts";
import type { HealthSpreads } from "../../../src/protocol/link/health-points.ts";
import type { AuditAction } from "../../../src/control-plane/core/people/audit-actions.ts";
import type { RolloutFields } from "../../../src/control-plane/core/fleets/rollout.ts";
import { alertRuleSchema } from "../../../src/protocol/alerts/settings.ts";
import { rolloutStrategySchema } from "../../../src/protocol/fleets/rollout-strategy.ts";
import { SOMEBODY } from "../../support/control-plane/fleets.ts";
import { putChannel } from "../../support/alerts/put-settings.ts";
import { someAudit as audit } from "../../support/control-plane/people.ts";
import { someSuperSim } from "../../support/control-plane/sims.ts";
import { goAway, NOW, say, someChannel } from "./alert-records.ts";
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
  limits: new Map(),
  outdated: new Map(),
  ...fields,
});

const heated = (celsius: number): HealthSpreads => ({
  temperature_celsius: [0, celsius, 200],
  cpu_percent: [1, 1, 1],
});

/** Contract of stores for the conditions of alerts that hold. */
export function alertObservationsContract(harness: StoreHarness): void {
  describeDomain("conditions of alerts", harness, () => {
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
      expect(await alerts.listAccounts(NOW, undefined, "", 10)).toEqual([]);
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
      expect(await alerts.listAccounts(NOW, undefined, "", 10)).toEqual([ACCOUNT, STRANGER]);
      expect(await alerts.listAccounts(NOW, undefined, ACCOUNT, 10)).toEqual([STRANGER]);
      await store.dataPlans.recordFinding(spent.uuid, "supersim", { state: "spent", until: 9e9 }, NOW, NOW / 1000);
      expect((await found(at)).at(-1)).toEqual(["data", spent.uuid, undefined, true]);
    });

    test("a SIM that was changed at its operator, or is lost there, is found for a day", async () => {
      await using store = await openWithAccounts(harness);
      const { alerts } = store;
      const now = NOW / 1000;
      const note = async (action: AuditAction, at: number, accountId = ACCOUNT) => {
        const asset = await register(store, someAsset({ accountId }));
        await store.audit.addEntry({ ...audit(action), accountId, assetUuid: asset.uuid, at });
        return asset.uuid;
      };
      const changed = await note("sim.corrected", now - 10);
      const lost = await note("sim.lost", now - 20);
      await note("sim.settled", now);
      await note("sim.corrected", now - 86_400);
      expect(await alerts.listAccounts(NOW, undefined, "", 10)).toEqual([ACCOUNT]);
      await note("sim.lost", now, STRANGER);
      await store.audit.addEntry({ ...audit("sim.corrected"), accountId: ACCOUNT, assetUuid: changed, at: now - 5 });
      const found = async (nowMs: number) => {
        const { observed } = await alerts.observeAssets(ACCOUNT, time({ awayBeforeMs: 0, nowMs }), "", 10);
        return observed.map(({ condition, subject, sinceMs }) => [condition, subject.id, sinceMs]);
      };
      const rows = [
        ["sim_changed", changed, NOW - 5_000],
        ["sim_changed", lost, NOW - 20_000],
      ];
      expect(new Set(await found(NOW))).toEqual(new Set(rows));
      expect(await found(NOW + 86_400_000 - 20_000)).toEqual(rows.slice(0, 1));
      expect(await alerts.listAccounts(NOW + 86_400_000, undefined, "", 10)).toEqual([]);
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
      expect(await alerts.listAccounts(NOW, undefined, "", 10)).toEqual([ACCOUNT, STRANGER]);
      const found = async (limits: AlertTime["limits"], nowMs = NOW) => {
        const { observed } = await alerts.observeAssets(ACCOUNT, time({ awayBeforeMs: 0, nowMs, limits }), "", 10);
        return observed.map(({ condition, subject, isAway, levels }) => [condition, subject.id, isAway, levels]);
      };
      const level = (quarters: number, value: number) => {
        const fromMs = (newest - quarters * 900) * 1000;
        return { fromMs, untilMs: fromMs + 900_000, value };
      };
      const heat = ["temperature_high", hot.uuid, false, [level(2, 50), level(1, 82), level(0, 85)]];
      expect(await found(new Map([["temperature_high", 84]]))).toEqual([heat]);
      expect(await found(new Map([["temperature_high", 85]]))).toEqual([]);
      const all = new Map([
        ["temperature_high", 80] as const,
        ["disk_high", 90] as const,
        ["memory_high", 90] as const,
      ]);
      expect(await found(all)).toEqual([heat, ["disk_high", full.uuid, false, [level(0, 91)]]]);
      expect(await found(new Map())).toEqual([]);
      const weak = await register(store, someAsset());
      await sessions.open({ assetUuid: weak.uuid, instanceId: "ins_1", sessionId: weak.uuid, protocol: 1, at: newest });
      await health.addRows(weak.uuid, [row(0, { signal_percent: [0, 19, 50], temperature_celsius: [-9, -9, -9] })]);
      expect(await found(new Map([["signal_low", 20]]))).toEqual([["signal_low", weak.uuid, false, [level(0, 19)]]]);
      expect(await found(new Map([["signal_low", 19] as const, ["temperature_low", -9] as const]))).toEqual([]);
      // A device that sends nothing any more is not judged by what it sent a day ago.
      expect(await found(all, NOW + 27 * 3_600_000)).toEqual([]);
    });

    test("agents of some versions are found by them, and every version is listed once", async () => {
      await using store = await openWithAccounts(harness);
      const { alerts, sessions } = store;
      const connect = async (agentVersion: string, accountId = ACCOUNT) => {
        const { uuid } = await register(store, someAsset({ accountId }));
        await sessions.open({
          assetUuid: uuid,
          instanceId: "ins_1",
          sessionId: uuid,
          protocol: 1,
          at: NOW / 1000,
          agentVersion,
        });
        return uuid;
      };
      expect(await alerts.listAgentVersions(ACCOUNT)).toEqual([]);
      const [old, other] = [await connect("1.2.0"), await connect("1.2.0")];
      await connect("1.10.0");
      await connect("0.9.0", STRANGER);
      expect(await alerts.listAgentVersions(ACCOUNT)).toEqual(["1.10.0", "1.2.0"]);
      const found = async (outdated: AlertTime["outdated"], after = "") => {
        const { observed } = await alerts.observeAssets(ACCOUNT, time({ awayBeforeMs: 0, outdated }), after, 10);
        return observed.map(({ condition, subject, sinceMs, agentVersion }) => [
          condition,
          subject.id,
          sinceMs,
          agentVersion,
        ]);
      };
      expect(
        await found(
          new Map([
            ["1.2.0", NOW - 5],
            ["0.9.0", undefined],
          ]),
        ),
      ).toEqual([
        ["agent_outdated", old, NOW - 5, "1.2.0"],
        ["agent_outdated", other, NOW - 5, "1.2.0"],
      ]);
      expect(await found(new Map([["1.3.0", undefined]]))).toEqual([]);
      // Accounts with another version than the newest release, and with a rule that names one.
      expect(await alerts.listAccounts(NOW, undefined, "", 10)).toEqual([]);
      expect(await alerts.listAccounts(NOW, "1.10.0", "", 10)).toEqual([ACCOUNT, STRANGER]);
      expect(await alerts.listAccounts(NOW, "0.9.0", "", 10)).toEqual([ACCOUNT]);
      const named = alertRuleSchema.parse({ condition: "agent_outdated", older_than: "1.0.0" });
      await store.alertSettings.change(STRANGER, () => ({
        rules: [named],
        routes: [],
        channels: [],
        audit: audit("alert_settings.changed", STRANGER),
      }));
      expect(await alerts.listAccounts(NOW, undefined, "", 10)).toEqual([STRANGER]);
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

    test("enrolment codes that nobody has used are found a day before their end", async () => {
      await using store = await openWithAccounts(harness);
      const { alerts, assetSettings, enrolments } = store;
      const day = 86_400;
      const now = NOW / 1000;
      const code = async (createdAt: number, expiresAt: number, accountId = ACCOUNT) => {
        const { uuid } = await register(store, someAsset({ accountId }));
        await enrolments.issueCode(
          { assetUuid: uuid, createdAt, expiresAt, usedAt: undefined, mayReplace: false },
          Buffer.from(uuid),
        );
        return uuid;
      };
      const soon = await code(now - 9 * day, now + day);
      await assetSettings.changeTags(soon, new Map([["site", "7"]]), false, audit("asset.tagged"));
      await code(now - 9 * day, now + day + 1);
      await code(now - day, now + day / 2);
      await code(now - 9 * day, now);
      await code(now - 9 * day, now + 1, STRANGER);
      const observed = await alerts.observeOthers(ACCOUNT, NOW);
      expect(observed).toMatchObject([
        { condition: "code_expiring", subject: { kind: "asset", id: soon, type: "gateway" }, sinceMs: NOW },
      ]);
      expect(observed[0]?.subject.tags?.get("site")).toBe("7");
      expect(await alerts.listAccounts(NOW, undefined, "", 10)).toEqual([ACCOUNT, STRANGER]);
      expect(await alerts.listAccounts(NOW + 1_000, undefined, ACCOUNT, 10)).toEqual([]);
    });

    test("trouble of the service is found until its time, since when it was noted first, by the account that it is told", async () => {
      await using store = await openWithAccounts(harness);
      const { alerts } = store;
      const subject = { id: "data_dir", name: "data directory" };
      const note = (sinceMs: number, untilMs: number, accountId = ACCOUNT) =>
        alerts.noteTrouble({ accountId, condition: "service_disk_low", subject, sinceMs, untilMs });
      const found = async (nowMs: number, accountId = ACCOUNT) =>
        (await alerts.observeOthers(accountId, nowMs)).map(({ condition, subject: of, sinceMs }) => [
          condition,
          of,
          sinceMs,
        ]);
      const row = (sinceMs: number) => ["service_disk_low", { kind: "service", ...subject }, sinceMs];
      await note(NOW, NOW + 100, "acc_none");
      await note(NOW, NOW + 100);
      await note(NOW + 50, NOW + 150);
      expect(await found(NOW + 149)).toEqual([row(NOW)]);
      expect(await found(NOW + 149, STRANGER)).toEqual([]);
      expect(await alerts.listAccounts(NOW + 149, undefined, "", 10)).toEqual([ACCOUNT]);
      expect(await found(NOW + 150)).toEqual([]);
      expect(await alerts.listAccounts(NOW + 150, undefined, "", 10)).toEqual([]);
      // It was over meanwhile.
      await note(NOW + 200, NOW + 300);
      expect(await found(NOW + 299)).toEqual([row(NOW + 200)]);
      const keep = (sinceMs: number, untilMs: number, id = subject.id) =>
        alerts.keepTrouble({
          accountId: ACCOUNT,
          condition: "service_disk_low",
          subject: { ...subject, id },
          sinceMs,
          untilMs,
        });
      await keep(NOW + 250, NOW + 400);
      expect(await found(NOW + 399)).toEqual([row(NOW + 200)]);
      // What is over, or was never noted, does not begin so.
      await keep(NOW + 401, NOW + 500);
      await keep(NOW + 250, NOW + 500, "other");
      expect(await found(NOW + 400)).toEqual([]);
      await alerts.endTrouble({
        accountId: ACCOUNT,
        condition: "service_disk_low",
        subject: { ...subject, id: "other" },
      });
      expect(await found(NOW + 299)).toHaveLength(1);
      await alerts.endTrouble({ accountId: ACCOUNT, condition: "service_disk_low", subject });
      expect(await found(NOW + 299)).toEqual([]);
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
