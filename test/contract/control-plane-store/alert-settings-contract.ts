import { expect, test } from "vitest";
import { type AlertSettings, MAX_SILENCES, type StoredChannel } from "../../../src/control-plane/store/alerts.ts";
import { alertRouteBodySchema, alertRuleSchema } from "../../../src/protocol/alerts/settings.ts";
import { putChannel } from "../../support/alerts/put-settings.ts";
import { someAudit as audit } from "../../support/control-plane/people.ts";
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

const STRANGER = TWO_ACCOUNTS[1];

const plain = (found: StoredChannel | undefined) => found && { ...found, sealed: [...found.sealed] };

/** Contract of stores for what alerts are told, and what not. */
export function alertSettingsContract(harness: StoreHarness): void {
  describeDomain("settings of alerts", harness, () => {
    test("an event of the account says that what is listed has changed, and not what nobody is told of", async () => {
      await using store = await openWithAccounts(harness);
      const { alerts, alertOutbox, accountEvents } = store;
      const asset = await register(store, someAsset());
      let seen = 0;
      /** Counts the events since the last look. */
      const news = async (): Promise<number> => {
        const { events, lastId } = await accountEvents.read(ACCOUNT, seen, 100);
        seen = lastId;
        return events.filter(({ event }) => event.type === "alert.changed").length;
      };
      const pending = opening(asset, { condition: "app_missing", state: "pending", firedAtMs: undefined });
      await alerts.change(ACCOUNT, [pending], ["alr_1"], NOW);
      await alerts.change(ACCOUNT, [{ kind: "clear", id: "alr_1", clearSinceMs: NOW }], [], NOW);
      expect(await news()).toBe(0);
      await alerts.change(ACCOUNT, [{ kind: "fire", id: "alr_1", severity: "info" }, opening(asset)], ["alr_2"], NOW);
      expect(await news()).toBe(1);
      await alerts.change(ACCOUNT, [opening(asset)], ["alr_3"], NOW);
      expect(await news()).toBe(0);
      await alertOutbox.assign(ACCOUNT, [assignment("alr_2")], NOW);
      expect(await news()).toBe(1);
      expect((await alerts.find(ACCOUNT, "alr_2"))?.groupIds).toEqual(["grp_1"]);
      const acknowledge = () =>
        alerts.acknowledge(ACCOUNT, { groupId: "grp_1" }, NOW, "Ada", audit("alert.acknowledged"));
      expect([await acknowledge(), await acknowledge(), await news()]).toEqual([1, 0, 1]);
      const resolve = () => alerts.change(ACCOUNT, [{ kind: "resolve", id: "alr_2" }], [], NOW);
      await resolve();
      await resolve();
      expect(await news()).toBe(1);
    });

    test("rules, routes and channels are of one account, and replaced in one step", async () => {
      await using store = await openWithAccounts(harness);
      const { alertSettings } = store;
      const rules = [alertRuleSchema.parse({ condition: "disk_low", enabled: false })];
      const body = alertRouteBodySchema.parse({ channels: ["ops"] });
      const settings = { rules, routes: [{ name: "night", body }], channels: [someChannel()] };
      const set = (accountId: string, after: Partial<AlertSettings>) =>
        alertSettings.change(accountId, (before) => ({ ...before, ...after, audit: audit("alert_settings.changed") }));
      const none = { rules: [], routes: [], channels: [] };
      await alertSettings.change(ACCOUNT, (current) => {
        expect(current).toEqual(none);
        return { ...settings, audit: audit("alert_settings.changed") };
      });
      const read = async (accountId = ACCOUNT) => {
        const { channels, ...others } = await alertSettings.read(accountId);
        return { ...others, channels: channels.map(plain) };
      };
      const stored = { ...settings, channels: [plain(someChannel())] };
      expect([await read(), await read(STRANGER)]).toEqual([stored, none]);
      expect([await alertSettings.readRules(ACCOUNT), await alertSettings.listRoutes(ACCOUNT)]).toEqual([
        rules,
        settings.routes,
      ]);
      const refusal = new Error("changed meanwhile");
      const refused = alertSettings.change(ACCOUNT, () => {
        throw refusal;
      });
      await expect(refused).rejects.toBe(refusal);
      await alertSettings.change(ACCOUNT, () => undefined);
      expect(await read()).toEqual(stored);
      expect(await store.audit.listEntries(ACCOUNT, 9, { actions: ["alert_settings.changed"] })).toHaveLength(1);
      const other = someChannel({ kind: "ntfy", keyId: "key_b" });
      await set(ACCOUNT, { routes: [], channels: [other] });
      expect(await read()).toEqual({ rules, routes: [], channels: [plain(other)] });
      expect(plain(await alertSettings.findChannel(ACCOUNT, "ops"))).toEqual(plain(other));
      await set(STRANGER, none);
      await set(ACCOUNT, { channels: [] });
      expect(await read()).toEqual({ ...none, rules });
      expect(await alertSettings.findChannel(ACCOUNT, "ops")).toBeUndefined();
    });

    test("a channel that was given up is used again once it is stored anew, not while it stays", async () => {
      await using store = await openWithAccounts(harness);
      const { alertSettings, alertOutbox } = store;
      await putChannel(store, someChannel());
      await say(store, "msg_1");
      const [claimed] = await alertOutbox.claim("ins_1", NOW, NOW + 9, 10, []);
      if (!claimed) throw new Error("nothing was claimed");
      const gone = { state: "failed", dueMs: undefined, failingSinceMs: NOW, disables: true } as const;
      await alertOutbox.finish(claimed, "ins_1", gone, "410", NOW + 1);
      const disabledAt = async () => (await alertSettings.findChannel(ACCOUNT, "ops"))?.disabledAtMs;
      await putChannel(store, someChannel({ name: "other" }));
      expect(await disabledAt()).toBe(NOW + 1);
      await putChannel(store, someChannel());
      expect(await disabledAt()).toBeUndefined();
    });

    test("there is a maximum of silences", async () => {
      await using store = await openWithAccounts(harness);
      const { alertSettings } = store;
      const silence = (id: string, endsAtMs: number, createdAtMs = NOW) =>
        alertSettings.createSilence(
          {
            id,
            accountId: ACCOUNT,
            conditions: undefined,
            selector: "*",
            asset: undefined,
            reason: "works",
            createdBy: "Ada",
            createdAtMs,
            endsAtMs,
          },
          audit("silence.created"),
        );
      for (let at = 0; at < MAX_SILENCES; at++) expect(await silence(`sil_${at}`, NOW + 10 + at)).toBe("stored");
      expect(await silence("sil_more", NOW + 10)).toBe("too_many");
      expect(await silence("sil_later", NOW + 1_000, NOW + 10)).toBe("stored");
    });

    test("a silence is listed until it ends, or is ended", async () => {
      await using store = await openWithAccounts(harness);
      const { alertSettings } = store;
      const silence = {
        id: "sil_1",
        accountId: ACCOUNT,
        conditions: ["disk_low" as const],
        selector: "role=van",
        asset: undefined,
        reason: "works",
        createdBy: "Ada",
        createdAtMs: NOW,
        endsAtMs: NOW + 100,
      };
      await alertSettings.createSilence(silence, audit("silence.created"));
      expect(await alertSettings.listSilences(ACCOUNT, NOW)).toEqual([silence]);
      expect(await alertSettings.listSilences(ACCOUNT, NOW + 100)).toEqual([]);
      expect(await alertSettings.endSilence(STRANGER, "sil_1", NOW, audit("silence.ended"))).toBe(false);
      expect(await alertSettings.endSilence(ACCOUNT, "sil_1", NOW, audit("silence.ended"))).toBe(true);
      expect(await alertSettings.endSilence(ACCOUNT, "sil_1", NOW, audit("silence.ended"))).toBe(false);
    });

    test("a silence of one asset has its name now, and goes with it", async () => {
      await using store = await openWithAccounts(harness);
      const { alertSettings, assets } = store;
      const { uuid, name } = await register(store, someAsset());
      const about = { accountId: ACCOUNT, conditions: undefined, selector: "*", reason: "works", createdBy: "Ada" };
      const silence = { ...about, id: "sil_1", asset: { uuid, name: "" }, createdAtMs: NOW, endsAtMs: NOW + 100 };
      expect(await alertSettings.createSilence(silence, audit("silence.created"))).toBe("stored");
      const listed = () => alertSettings.listSilences(ACCOUNT, NOW);
      expect(await listed()).toEqual([{ ...silence, asset: { uuid, name } }]);
      const others = { ...silence, id: "sil_2", asset: undefined };
      expect(await alertSettings.createSilence(others, audit("silence.created"))).toBe("stored");
      await assets.removeAsset(uuid);
      expect(await listed()).toEqual([others]);
      expect(await alertSettings.createSilence({ ...silence, id: "sil_3" }, audit("silence.created"))).toBe("no_asset");
      expect(await listed()).toEqual([others]);
    });

    test("channels of other keys are sealed again, and the key that seals one is in use", async () => {
      await using store = await openWithAccounts(harness);
      const { alertSettings, sealingKeys } = store;
      for (const id of ["key_a", "key_b"]) await sealingKeys.add(id, 1);
      await putChannel(store, someChannel());
      expect(await sealingKeys.listUsed()).toEqual(["key_a"]);
      expect(await sealingKeys.countUsed()).toEqual(new Map([["key_a", 1]]));
      expect(await sealingKeys.removeUnused("key_a")).toBe(false);
      const after = { keyId: "key_b", sealed: Uint8Array.of(9) };
      expect((await alertSettings.listChannelsNotSealedBy("key_b", 5)).map(({ name }) => name)).toEqual(["ops"]);
      expect(await alertSettings.resealChannel(ACCOUNT, "ops", Uint8Array.of(3), after)).toBe(false);
      expect(await alertSettings.resealChannel(ACCOUNT, "ops", someChannel().sealed, after)).toBe(true);
      expect(await alertSettings.listChannelsNotSealedBy("key_b", 5)).toEqual([]);
      expect(await sealingKeys.removeUnused("key_a")).toBe(true);
    });
  });
}
