import { expect, test } from "vitest";
import {
  type AlertSettings,
  type AlertDelivery,
  MAX_MESSAGES_PER_HOUR,
  MAX_SILENCES,
  type StoredChannel,
} from "../../../src/control-plane/store/alerts.ts";
import { alertRouteBodySchema, alertRuleSchema } from "../../../src/protocol/alerts/settings.ts";
import { putChannel, removeChannel } from "../../support/alerts/put-settings.ts";
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

const names = (found: readonly AlertDelivery[]) =>
  found.map(({ channel, messageId, attempts }) => `${channel} ${messageId} ${attempts}`);

/** Contract of stores for what alerts are told, and for their outbox. */
export function alertOutboxContract(harness: StoreHarness): void {
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

  describeDomain("the outbox of alerts", harness, () => {
    test("a group counts its alerts, and is due when they change", async () => {
      await using store = await openWithAccounts(harness);
      const { alerts, alertOutbox } = store;
      const assets = [await register(store, someAsset()), await register(store, someAsset())];
      await alerts.change(
        ACCOUNT,
        assets.map((asset) => opening(asset)),
        ["alr_1", "alr_2"],
        NOW,
      );
      await alertOutbox.assign(ACCOUNT, [assignment("alr_1"), assignment("alr_2"), assignment("alr_none")], NOW);
      await alertOutbox.assign(ACCOUNT, [assignment("alr_1")], NOW);
      expect(await alertOutbox.listDueGroups(NOW - 1, 5)).toEqual([]);
      const [due] = await alertOutbox.listDueGroups(NOW, 5);
      if (!due) throw new Error("nothing is due");
      expect(due).toMatchObject({ accountId: ACCOUNT, counts: { total: 2, open: 2, unacknowledged: 2 } });
      expect(due.names).toEqual(assets.map(({ name }) => name).toSorted());
      await store.assetSettings.changeTags(
        assets[0]?.uuid ?? "",
        new Map([["site", "7"]]),
        false,
        audit("asset.tagged"),
      );
      const [first, second] = await alertOutbox.listUnacknowledged("grp_1", "", 5);
      expect(first).toMatchObject({ id: "alr_1", subject: { id: assets[0]?.uuid, type: "gateway" } });
      expect([first?.subject.tags, second?.subject.tags]).toEqual([new Map([["site", "7"]]), new Map()]);
      expect((await alertOutbox.listUnacknowledged("grp_1", "alr_1", 5)).map(({ id }) => id)).toEqual(["alr_2"]);
      await alerts.acknowledge(ACCOUNT, { ids: ["alr_2"] }, NOW, "Ada", audit("alert.acknowledged"));
      expect((await alertOutbox.listUnacknowledged("grp_1", "", 5)).map(({ id }) => id)).toEqual(["alr_1"]);
      await alertOutbox.step(due, { message: undefined, nextAtMs: undefined, isClosed: false }, undefined, NOW);
      expect(await alertOutbox.listDueGroups(NOW, 5)).toEqual([]);
      await alerts.change(ACCOUNT, [{ kind: "resolve", id: "alr_1" }], [], NOW + 1);
      expect((await alertOutbox.listDueGroups(NOW + 1, 5))[0]?.counts).toEqual({
        total: 2,
        open: 1,
        unacknowledged: 0,
      });
      await alertOutbox.step(due, { message: undefined, nextAtMs: undefined, isClosed: true }, undefined, NOW);
      expect(await alertOutbox.listGroups(ACCOUNT)).toEqual([]);
    });

    test("a channel gets so many messages an hour, and the others wait without delaying other channels", async () => {
      await using store = await openWithAccounts(harness);
      const { alertOutbox } = store;
      for (const name of ["ops", "calm"]) await putChannel(store, someChannel({ name }));
      let due = await say(store, "msg_0");
      const repeat = async (id: string, channels: readonly string[]) => {
        const sends = due.group.sends + 1;
        due = { ...due, group: { ...due.group, sends } };
        const step = { message: "repeat", nextAtMs: undefined, isClosed: false } as const;
        await alertOutbox.step(due, step, { id, message: "{}", channels, total: 1 }, NOW);
      };
      const delivered = { state: "delivered", dueMs: undefined, failingSinceMs: undefined, disables: false } as const;
      const claim = (atMs: number) => alertOutbox.claim("ins_1", atMs, atMs + 1, 10, []);
      const sendOne = async (atMs: number) => {
        const claimed = await claim(atMs);
        for (const each of claimed) await alertOutbox.finish(each, "ins_1", delivered, "200", atMs);
        return names(claimed);
      };
      for (let at = 1; at <= MAX_MESSAGES_PER_HOUR; at++) {
        await repeat(`msg_${at}`, ["ops"]);
        expect(await sendOne(NOW)).toEqual([`ops msg_${at - 1} 1`]);
      }
      await repeat("msg_last", ["calm"]);
      expect(await sendOne(NOW)).toEqual(["calm msg_last 1"]);
      expect(await claim(NOW + 3_599_999)).toEqual([]);
      expect(await sendOne(NOW + 3_600_000)).toEqual([`ops msg_${MAX_MESSAGES_PER_HOUR} 1`]);
    });

    test("a step is stored once, with its message to each channel that is in use", async () => {
      await using store = await openWithAccounts(harness);
      const { alertOutbox } = store;
      await putChannel(store, someChannel());
      const due = await say(store, "msg_1", ["ops", "removed"]);
      // Another instance had decided the same.
      const message = { id: "msg_2", message: "{}", channels: ["ops"], total: 1 };
      await alertOutbox.step(due, { message: "firing", nextAtMs: undefined, isClosed: false }, message, NOW);
      const [delivery, ...more] = await alertOutbox.listDeliveries(ACCOUNT, {}, 10);
      expect(more).toEqual([]);
      expect(delivery).toMatchObject({
        channel: "ops",
        messageId: "msg_1",
        state: "waiting",
        attempts: 0,
        createdAtMs: NOW,
      });
      expect((await alertOutbox.listGroups(ACCOUNT))[0]).toMatchObject({ sends: 1, sentTotal: 1, lastSentAtMs: NOW });
      expect(await alertOutbox.listDeliveries(STRANGER, {}, 10)).toEqual([]);
      expect(await alertOutbox.listDeliveries(ACCOUNT, { state: "failed" }, 10)).toEqual([]);
      expect(await alertOutbox.listDeliveries(ACCOUNT, { channel: "ops" }, 10, delivery?.id)).toEqual([]);
    });

    test("a message is claimed by one instance, again after its time, and in order for a group", async () => {
      await using store = await openWithAccounts(harness);
      const { alertOutbox, alertSettings } = store;
      for (const name of ["ops", "other"]) await putChannel(store, someChannel({ name }));
      await say(store, "msg_1", ["ops", "other"]);
      const [group] = await alertOutbox.listGroups(ACCOUNT);
      if (!group) throw new Error("no group");
      const due = {
        accountId: ACCOUNT,
        group,
        counts: { total: 1, open: 1, unacknowledged: 1 },
        names: [],
      };
      const second = { id: "msg_2", message: "{}", channels: ["ops"], total: 1 };
      await alertOutbox.step(due, { message: "resolved", nextAtMs: undefined, isClosed: true }, second, NOW);
      const claim = async (instance: string, nowMs: number, busy: string[] = []) =>
        (await alertOutbox.claim(instance, nowMs, nowMs + 100, 10, busy)).toSorted((a, b) => a.id - b.id);
      const claimed = await Promise.all([
        claim("ins_1", NOW, [`${ACCOUNT} other`]),
        claim("ins_2", NOW, [`${ACCOUNT} other`]),
      ]);
      expect(names(claimed.flat())).toEqual(["ops msg_1 1"]);
      expect(names(await claim("ins_2", NOW))).toEqual(["other msg_1 1"]);
      expect(names(await claim("ins_2", NOW + 99))).toEqual([]);
      const [again] = await claim("ins_3", NOW + 100, [`${ACCOUNT} other`]);
      if (!again) throw new Error("nothing was claimed");
      expect(names([again])).toEqual(["ops msg_1 2"]);
      const delivered = { state: "delivered", dueMs: undefined, failingSinceMs: undefined, disables: false } as const;
      // The first one comes too late to say what became of it.
      await alertOutbox.finish(again, "ins_1", delivered, "200", NOW + 101);
      const retry = { state: "waiting", dueMs: NOW + 300, failingSinceMs: NOW, disables: false } as const;
      await alertOutbox.finish(again, "ins_3", retry, "500", NOW + 101);
      expect(names(await claim("ins_1", NOW + 299, [`${ACCOUNT} other`]))).toEqual([]);
      const [third] = await claim("ins_1", NOW + 300, [`${ACCOUNT} other`]);
      if (!third) throw new Error("nothing was claimed");
      await alertOutbox.finish(third, "ins_1", delivered, "200 OK", NOW + 301);
      expect(names(await claim("ins_1", NOW + 301, [`${ACCOUNT} other`]))).toEqual(["ops msg_2 1"]);
      expect((await alertOutbox.listDeliveries(ACCOUNT, { state: "delivered" }, 5))[0]).toMatchObject({
        messageId: "msg_1",
        attempts: 3,
        answer: "200 OK",
        answeredAtMs: NOW + 301,
      });
      expect((await alertSettings.findChannel(ACCOUNT, "ops"))?.failingSinceMs).toBeUndefined();
    });

    test("what waits for a channel that is removed fails, and what is old is removed", async () => {
      await using store = await openWithAccounts(harness);
      const { alertOutbox } = store;
      await putChannel(store, someChannel());
      await say(store, "msg_1");
      expect(await alertOutbox.removeOld(NOW + 1, 10)).toBe(false);
      await removeChannel(store, ACCOUNT, "ops");
      expect(await alertOutbox.claim("ins_1", NOW, NOW + 1, 10, [])).toEqual([]);
      expect(await alertOutbox.listDeliveries(ACCOUNT, { state: "failed" }, 5)).toHaveLength(1);
      expect(await alertOutbox.removeOld(NOW, 10)).toBe(false);
      expect(await alertOutbox.listDeliveries(ACCOUNT, {}, 5)).toHaveLength(1);
      expect(await alertOutbox.removeOld(NOW + 1, 1)).toBe(true);
      expect(await alertOutbox.listDeliveries(ACCOUNT, {}, 5)).toEqual([]);
    });
  });
}
