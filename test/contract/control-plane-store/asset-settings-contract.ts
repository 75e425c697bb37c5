import { expect, test } from "vitest";
import { parseSelector } from "../../../src/protocol/fleets/selector.ts";
import { MAX_TAGS } from "../../../src/protocol/fleets/tags.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { someAudit } from "../../support/control-plane/people.ts";
import { ACCOUNT, describeDomain, openWithAccounts, register, someAsset, type StoreHarness } from "./harness.ts";

const tagged = someAudit("asset.tagged");
const HOLD = {
  untilMs: 5_000,
  reason: "trade fair",
  setAtMs: 1_000,
  setBy: { kind: "user" as const, id: "usr_1", name: "Jane" },
};

const setTags = (store: Store, uuid: string, tags: Record<string, string | null>, replace = false) =>
  store.assetSettings.changeTags(uuid, new Map(Object.entries(tags)), replace, tagged);
const variable = (value: string, keyId = "key_a") => ({ isSecret: true, keyId, sealed: Buffer.from(value) });
const entriesOf = async (store: Store) => (await store.audit.listEntries(ACCOUNT, 100)).length;

const many = (prefix: string, count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, "x"]));

/** Contract of stores for tags, variables and holds of assets. */
export function assetSettingsContract(harness: StoreHarness): void {
  describeDomain("settings of assets", harness, () => {
    test("a selector is asked about some assets of an account", async () => {
      await using store = await openWithAccounts(harness);
      const [north, south, none] = await Promise.all([
        register(store, someAsset()),
        register(store, someAsset()),
        register(store, someAsset()),
      ]);
      await setTags(store, north.uuid, { region: "north" });
      await setTags(store, south.uuid, { region: "south" });
      const matching = async (selector: string, uuids: readonly string[], accountId = ACCOUNT) => {
        const parsed = parseSelector(selector);
        if (!parsed.ok) throw new Error(parsed.reason);
        return [...(await store.assets.findMatching(accountId, uuids, parsed.terms))];
      };
      const all = [north.uuid, south.uuid, none.uuid, "01a00000-0000-7000-8000-000000000000"];
      expect(await matching("region=north", all)).toEqual([north.uuid]);
      expect(await matching("region=north", [south.uuid, none.uuid])).toEqual([]);
      expect((await matching("region!=north", all)).toSorted()).toEqual([south.uuid, none.uuid].toSorted());
      expect((await matching("*", all)).toSorted()).toEqual(all.slice(0, 3).toSorted());
      expect(await matching("*", [])).toEqual([]);
      expect(await matching("*", all, "acc_other")).toEqual([]);
    });

    test("tags are set, changed and removed, in the order of their keys", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      expect(await setTags(store, uuid, { role: "kiosk", beta: "", region: "north" })).toBe("changed");
      expect([...(await store.assetSettings.readTags(uuid))]).toEqual([
        ["beta", ""],
        ["region", "north"],
        ["role", "kiosk"],
      ]);
      expect(await setTags(store, uuid, { region: "south", beta: null, unknown: null })).toBe("changed");
      expect(Object.fromEntries(await store.assetSettings.readTags(uuid))).toEqual({ region: "south", role: "kiosk" });
      expect(await setTags(store, uuid, { role: "van" }, true)).toBe("changed");
      expect(Object.fromEntries(await store.assetSettings.readTags(uuid))).toEqual({ role: "van" });
    });

    test("tags of several assets are read at once, and a selector filters the list of assets", async () => {
      await using store = await openWithAccounts(harness);
      const [one, other, bare] = [
        await register(store, someAsset()),
        await register(store, someAsset()),
        await register(store, someAsset()),
      ];
      await setTags(store, one.uuid, { role: "kiosk", beta: "" });
      await setTags(store, other.uuid, { role: "kiosk" });
      const tags = await store.assetSettings.listTags([one.uuid, bare.uuid]);
      expect([...tags].map(([uuid, each]) => [uuid, Object.fromEntries(each)])).toEqual([
        [one.uuid, { beta: "", role: "kiosk" }],
        [bare.uuid, {}],
      ]);
      const select = async (text: string) => {
        const parsed = parseSelector(text);
        if (!parsed.ok) throw new Error(parsed.reason);
        const filter = { status: undefined, type: undefined, text: undefined, selector: parsed.terms };
        const { assets: found } = await store.assets.listAssets(ACCOUNT, filter, 10, undefined, {
          now: 0,
          notSeenBefore: 0,
          serviceNowMs: 0,
        });
        return found.map(({ asset }) => asset.uuid).toSorted();
      };
      expect(await select("role=kiosk")).toEqual([one.uuid, other.uuid].toSorted());
      expect(await select("role in (kiosk,van),!beta")).toEqual([other.uuid]);
      expect(await select("!role")).toEqual([bare.uuid]);
      expect(await select("*")).toHaveLength(3);
    });

    test("what changes nothing has no entry in the audit log and no event", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      await setTags(store, uuid, { role: "kiosk" });
      const before = { entries: await entriesOf(store), events: await store.accountEvents.read(ACCOUNT, 0, 100) };
      expect(await setTags(store, uuid, { role: "kiosk" })).toBe("unchanged");
      expect(await setTags(store, uuid, { role: "kiosk" }, true)).toBe("unchanged");
      expect(await setTags(store, uuid, { other: null })).toBe("unchanged");
      expect(await store.assetSettings.changeHold(uuid, undefined, tagged)).toBe("unchanged");
      expect(await entriesOf(store)).toBe(before.entries);
      expect((await store.accountEvents.read(ACCOUNT, 0, 100)).lastId).toBe(before.events.lastId);
      expect(await setTags(store, uuid, { role: "van" })).toBe("changed");
      expect(await entriesOf(store)).toBe(before.entries + 1);
      const { events } = await store.accountEvents.read(ACCOUNT, before.events.lastId, 100);
      expect(events.map(({ event }) => event)).toEqual([{ type: "asset.changed", asset_id: uuid }]);
    });

    test("are limited in number, also by changes at the same time", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      expect(await setTags(store, uuid, many("a", MAX_TAGS - 5))).toBe("changed");
      const results = await Promise.all([setTags(store, uuid, many("b", 4)), setTags(store, uuid, many("c", 4))]);
      expect(results.toSorted()).toEqual(["changed", "too_many"]);
      expect(await setTags(store, uuid, many("d", 2))).toBe("too_many");
      // What goes makes room.
      expect(await setTags(store, uuid, { ...many("d", 2), a0: null })).toBe("changed");
      expect((await store.assetSettings.readTags(uuid)).size).toBe(MAX_TAGS);
    });

    test("variables keep what was sealed, byte for byte", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      const bytes = { isSecret: false, keyId: "key_a", sealed: Buffer.from([0, 255, 10, 13]) };
      const { assetSettings } = store;
      await assetSettings.changeVariables(
        uuid,
        new Map([
          ["SITE", bytes],
          ["TOKEN", variable("t")],
        ]),
        false,
        tagged,
      );
      const stored = await assetSettings.readVariables(uuid);
      expect(stored.map(({ name, isSecret }) => [name, isSecret])).toEqual([
        ["SITE", false],
        ["TOKEN", true],
      ]);
      expect([...(stored[0]?.sealed ?? [])]).toEqual([0, 255, 10, 13]);
      await assetSettings.changeVariables(uuid, new Map([["SITE", null]]), false, tagged);
      expect((await assetSettings.readVariables(uuid)).map(({ name }) => name)).toEqual(["TOKEN"]);
    });

    test("variables are sealed again with another key, unless they were changed meanwhile", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      const { assetSettings } = store;
      const set = new Map([
        ["A", variable("a")],
        ["B", variable("b", "key_b")],
        ["C", variable("c", "key_z")],
      ]);
      await assetSettings.changeVariables(uuid, set, false, tagged);
      const others = await assetSettings.listVariablesNotSealedBy("key_b", 10);
      expect(others.map(({ name }) => name).toSorted()).toEqual(["A", "C"]);
      expect(others.every(({ assetUuid }) => assetUuid === uuid)).toBe(true);
      const after = { keyId: "key_b", sealed: Buffer.from("again") };
      expect(await assetSettings.resealVariable(uuid, "A", Buffer.from("a"), after)).toBe(true);
      expect(await assetSettings.resealVariable(uuid, "C", Buffer.from("changed meanwhile"), after)).toBe(false);
      expect((await assetSettings.listVariablesNotSealedBy("key_b", 10)).map(({ name }) => name)).toEqual(["C"]);
    });

    test("a hold is set, changed and released", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      const { assetSettings } = store;
      expect(await assetSettings.findHold(uuid)).toBeUndefined();
      expect(await assetSettings.changeHold(uuid, HOLD, tagged)).toBe("changed");
      expect(await assetSettings.findHold(uuid)).toEqual(HOLD);
      expect(await assetSettings.changeHold(uuid, { ...HOLD, setAtMs: 2_000 }, tagged)).toBe("unchanged");
      expect(await assetSettings.changeHold(uuid, { ...HOLD, untilMs: undefined }, tagged)).toBe("changed");
      expect((await assetSettings.findHold(uuid))?.untilMs).toBeUndefined();
      expect(await assetSettings.changeHold(uuid, undefined, tagged)).toBe("changed");
      expect(await assetSettings.findHold(uuid)).toBeUndefined();
    });

    test("go with their asset", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      const { assetSettings } = store;
      await setTags(store, uuid, { role: "kiosk" });
      await assetSettings.changeVariables(uuid, new Map([["A", variable("a")]]), false, tagged);
      await assetSettings.changeHold(uuid, HOLD, tagged);
      await store.assets.removeAsset(uuid);
      expect((await assetSettings.readTags(uuid)).size).toBe(0);
      expect(await assetSettings.readVariables(uuid)).toEqual([]);
      expect(await assetSettings.findHold(uuid)).toBeUndefined();
      expect(await setTags(store, uuid, { role: "kiosk" })).toBe("no_asset");
      expect(await assetSettings.changeHold(uuid, HOLD, tagged)).toBe("no_asset");
    });
  });
}
