import { expect, test } from "vitest";
import { NO_HABITS } from "../../../src/control-plane/core/alerts/habits.ts";
import { MAX_SCANNED_ALERTS } from "../../../src/control-plane/store/alerts.ts";
import type { AlertRule } from "../../../src/protocol/alerts/settings.ts";
import { someAudit as audit } from "../../support/control-plane/people.ts";
import { assignment, goAway, NOW, opening } from "./alert-records.ts";
import {
  ACCOUNT,
  describeDomain,
  openWithAccounts,
  register,
  someAsset,
  type StoreHarness,
  TWO_ACCOUNTS,
} from "./harness.ts";

const STRANGER = TWO_ACCOUNTS[1];

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
      expect(await alerts.listAccounts(NOW, undefined, "", 10)).toEqual([ACCOUNT, STRANGER]);
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

    test("rules about what devices measure are listed by account, and the devices that are connected at an instance", async () => {
      await using store = await openWithAccounts(harness);
      const { alerts, alertSettings, assetSettings, sessions } = store;
      const rules = async (accountId: string, ...of: AlertRule[]): Promise<void> =>
        alertSettings.change(accountId, (current) => ({
          ...current,
          rules: of,
          audit: audit("alert_settings.changed"),
        }));
      const offline = { condition: "device_offline", selector: "*", for_s: 60 } as const;
      const hot = { condition: "temperature_high", selector: "site=north", above: 95 } as const;
      await rules(STRANGER, offline);
      expect(await alertSettings.listLevelRules("", 9)).toEqual([]);
      await rules(ACCOUNT, offline, hot);
      await rules(STRANGER, { ...hot, above: 70 });
      expect(await alertSettings.listLevelRules("", 1)).toEqual([{ accountId: ACCOUNT, rules: [hot] }]);
      expect(await alertSettings.listLevelRules(ACCOUNT, 9)).toEqual([
        { accountId: STRANGER, rules: [{ ...hot, above: 70 }] },
      ]);
      await rules(ACCOUNT, offline);
      expect((await alertSettings.listLevelRules("", 9)).map(({ accountId }) => accountId)).toEqual([STRANGER]);

      const [here, second, away] = [someAsset({ type: "oven" }), someAsset(), someAsset()];
      const [elsewhere, strange] = [someAsset(), someAsset({ accountId: STRANGER })];
      for (const asset of [here, second, away, elsewhere, strange]) {
        await register(store, asset);
        const instanceId = asset === elsewhere ? "ins_2" : "ins_1";
        const session = { sessionId: `ses_${asset.uuid}`, instanceId, protocol: 1, at: 1_000 };
        const opened = await sessions.open({ assetUuid: asset.uuid, ...session });
        if (asset === away && opened) await sessions.close({ assetUuid: away.uuid, ...opened }, 1_001, "lost");
      }
      await assetSettings.changeTags(here.uuid, new Map([["site", "north"]]), false, audit("asset.tagged"));
      const subject = { kind: "asset", id: here.uuid, name: here.name, type: "oven" } as const;
      expect(await alerts.listConnected(ACCOUNT, "ins_1", "", 1)).toEqual([
        { ...subject, tags: new Map([["site", "north"]]) },
      ]);
      const ids = async (...of: Parameters<typeof alerts.listConnected>) =>
        (await alerts.listConnected(...of)).map(({ id }) => id);
      expect(await ids(ACCOUNT, "ins_1", here.uuid, 9)).toEqual([second.uuid]);
      expect(await ids(STRANGER, "ins_1", "", 9)).toEqual([strange.uuid]);
      expect(await ids(ACCOUNT, "ins_2", "", 9)).toEqual([elsewhere.uuid]);
    });

    test("the last round is on record", async () => {
      await using store = await openWithAccounts(harness);
      expect(await store.alerts.readRound()).toEqual({ lastAtMs: 0, fromMs: 0, untilMs: 0 });
      await store.alerts.saveRound({ lastAtMs: NOW, fromMs: 1, untilMs: 2 });
      expect(await store.alerts.readRound()).toEqual({ lastAtMs: NOW, fromMs: 1, untilMs: 2 });
    });
  });
}
