import { expect, test } from "vitest";
import type { Asset } from "../../../src/control-plane/core/asset.ts";
import type { AssetFilter, AssetWithState } from "../../../src/control-plane/store/assets.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { someAudit } from "../../support/control-plane/people.ts";
import { someProSim, someSuperSim } from "../../support/control-plane/sims.ts";
import {
  ACCOUNT,
  describeDomain,
  hash,
  listAssets,
  openWithAccounts,
  register,
  SOME_TIME,
  someAsset,
  type StoreHarness,
} from "./harness.ts";
import { waitFor } from "../../support/wait-for.ts";

const AUDIT = someAudit("asset.changed");
const HOLD = { reason: "Test", untilMs: undefined, setAtMs: 0, setBy: { kind: "key", id: "key_1" } } as const;

const UPDATES: Readonly<Record<string, (store: Store, uuid: string) => Promise<unknown>>> = {
  name: (store, uuid) => store.assets.describeAsset(uuid, { name: "Pump" }),
  type: (store, uuid) => store.assets.describeAsset(uuid, { type: "pump" }),
  tags: (store, uuid) => store.assetSettings.changeTags(uuid, new Map([["a", "b"]]), false, AUDIT),
  hold: (store, uuid) => store.assetSettings.changeHold(uuid, HOLD, AUDIT),
  SIM: (store, uuid) => store.sims.setSimState(uuid, "prosim", { status: "inactive", networkGroup: undefined }),
};

const EVERYTHING: AssetFilter = { status: undefined, type: undefined, text: undefined };

/** Contract of stores for assets and their SIMs. */
export function assetsContract(harness: StoreHarness): void {
  describeDomain("assets", harness, () => {
    test("are found by each of their identifiers, by their own account only", async () => {
      await using store = await openWithAccounts(harness);
      const asset = await register(store, someAsset({ supersim: someSuperSim(), prosim: someProSim() }));
      const { uuid, serialNumber, supersim, prosim } = asset;
      for (const id of [uuid, uuid.toUpperCase(), serialNumber, supersim?.sid, supersim?.iccid, prosim?.iccid]) {
        expect(await store.assets.findAsset(ACCOUNT, id ?? "")).toEqual(asset);
        expect(await store.assets.findAsset("acc_2", id ?? "")).toBeUndefined();
      }
      expect(await store.assets.findAssetByUuid(uuid)).toEqual(asset);
      expect(await store.assets.findAssetByDeviceToken(hash(uuid))).toEqual(asset);
      expect(await store.assets.findAssetByDeviceToken(hash("other"))).toBeUndefined();
    });

    test("concurrent registrations with one identifier: one succeeds, and nothing of the others is stored", async () => {
      await using store = await openWithAccounts(harness);
      const claims = Array.from({ length: 8 }, () => someAsset({ serialNumber: "GW-1", supersim: someSuperSim() }));
      const results = await Promise.all(claims.map((asset) => store.assets.registerAsset(asset, hash(asset.uuid))));
      expect(results.filter(({ ok }) => ok)).toHaveLength(1);
      const [winner] = await listAssets(store, ACCOUNT, EVERYTHING, 100);
      const owner = { accountId: ACCOUNT, assetUuid: winner?.uuid };
      expect(results.filter(({ ok }) => !ok)).toEqual(
        Array.from({ length: 7 }, () => ({ ok: false, taken: "serial_number", value: "GW-1", owner })),
      );
      expect(await listAssets(store, ACCOUNT, EVERYTHING, 100)).toHaveLength(1);
      const iccids = claims.map(({ supersim }) => store.sims.hasIccid(supersim?.iccid ?? ""));
      expect((await Promise.all(iccids)).filter(Boolean)).toHaveLength(1);
    });

    test("are listed page by page in order of creation, if they match the filter", async () => {
      await using store = await openWithAccounts(harness);
      const all = [];
      for (let index = 0; index < 7; index++) {
        const supersim = index % 2 === 0 ? someSuperSim({ status: "inactive" }) : someSuperSim();
        all.push(await register(store, someAsset({ createdAt: Math.floor(index / 3), supersim })));
      }
      const pages = [];
      for (let after: (typeof all)[number] | undefined; ;) {
        const position = after && { at: after.createdAt, uuid: after.uuid };
        const page = await listAssets(store, ACCOUNT, EVERYTHING, 3, position);
        if (page.length === 0) break;
        pages.push(...page);
        after = page.at(-1);
      }
      expect(pages).toEqual(all);
      const active = await listAssets(store, ACCOUNT, { ...EVERYTHING, status: "active" }, 10);
      expect(active).toEqual(all.filter(({ supersim }) => supersim?.status === "active"));
      const named = { ...EVERYTHING, text: all[2]?.serialNumber.slice(-3) };
      expect(await listAssets(store, ACCOUNT, named, 10)).toContainEqual(all[2]);
      expect(await listAssets(store, ACCOUNT, { ...EVERYTHING, text: "%" }, 10)).toEqual([]);
      expect(await listAssets(store, "acc_2", EVERYTHING, 10)).toEqual([]);
    });

    test("have the status of their SIMs in lists, whatever changes these, and in whatever order at once", async () => {
      await using store = await openWithAccounts(harness);
      const both = await register(store, someAsset({ supersim: someSuperSim(), prosim: someProSim() }));
      const none = await register(store, someAsset());
      const uuidsOf = async (status: "active" | "inactive", order?: "updated_at") =>
        (await listAssets(store, ACCOUNT, { ...EVERYTHING, status, order }, 10)).map(({ uuid }) => uuid).toSorted();
      const expectActive = async (...active: readonly string[]) => {
        const inactive = [both.uuid, none.uuid].filter((uuid) => !active.includes(uuid)).toSorted();
        for (const order of [undefined, "updated_at"] as const) {
          expect(await uuidsOf("active", order)).toEqual(active);
          expect(await uuidsOf("inactive", order)).toEqual(inactive);
        }
      };
      await expectActive(both.uuid);
      await store.sims.setSimState(both.uuid, "supersim", { status: "inactive", networkGroup: undefined });
      await expectActive(both.uuid);
      await store.sims.setSimState(both.uuid, "prosim", { status: "inactive", networkGroup: undefined });
      await expectActive();
      const set = (status: "active" | "inactive") =>
        Promise.all(
          (["supersim", "prosim"] as const).map((type) =>
            store.sims.setSimState(both.uuid, type, { status, networkGroup: undefined }),
          ),
        );
      await set("active");
      await expectActive(both.uuid);
      await set("inactive");
      await expectActive();
      await store.sims.setSimState(both.uuid, "prosim", { status: "active", networkGroup: undefined });
      await store.sims.releaseSim(both, "prosim", someAudit("sim.released"));
      await expectActive();
    });

    test("are listed in the order of registration or of updates, from either end", async () => {
      await using store = await openWithAccounts(harness);
      const all = [];
      for (let index = 0; index < 4; index++) all.push(await register(store, someAsset({ createdAt: index })));
      const uuids = all.map(({ uuid }) => uuid);
      const list = async (filter: Partial<AssetFilter>) => {
        const found: AssetWithState[] = [];
        for (;;) {
          const last = found.at(-1);
          const at = filter.order?.endsWith("updated_at") ? last?.state.updatedAt : last?.asset.createdAt;
          const after = last && { at: at ?? 0, uuid: last.asset.uuid };
          const { assets: page } = await store.assets.listAssets(
            ACCOUNT,
            { ...EVERYTHING, ...filter },
            2,
            after,
            SOME_TIME,
          );
          if (page.length === 0) return found;
          found.push(...page);
        }
      };
      const uuidsOf = async (filter: Partial<AssetFilter>) => (await list(filter)).map(({ asset }) => asset.uuid);
      expect(await uuidsOf({})).toEqual(uuids);
      expect(await uuidsOf({ order: "-created_at" })).toEqual(uuids.toReversed());
      // At the same second they are in the order of their UUIDs.
      const updated = await list({ order: "updated_at" });
      const expected = updated.toSorted(
        (a, b) => a.state.updatedAt - b.state.updatedAt || (a.asset.uuid < b.asset.uuid ? -1 : 1),
      );
      expect(updated).toEqual(expected);
      expect(updated).toHaveLength(4);
      expect(await list({ order: "-updated_at" })).toEqual(updated.toReversed());
      const latest = updated.at(-1)?.state.updatedAt ?? 0;
      expect(await uuidsOf({ order: "updated_at", updatedSince: latest + 3600 })).toEqual([]);
      expect(await uuidsOf({ order: "updated_at", updatedSince: 0 })).toHaveLength(4);
    });

    test("are updated by what people set of them, and by their SIMs", async () => {
      await using store = await openWithAccounts(harness);
      const assets = new Map<string, Asset>();
      for (const what of Object.keys(UPDATES))
        assets.set(what, await register(store, someAsset({ prosim: someProSim() })));
      const updatedAt = async (what: string): Promise<number> => {
        const found = await store.assets.findAssetWithState(ACCOUNT, assets.get(what)?.uuid ?? "", SOME_TIME);
        return found?.state.updatedAt ?? 0;
      };
      const before = await updatedAt("type");
      // The database's clock has seconds.
      await waitFor("the next second", () => Math.floor(Date.now() / 1000) > before + 1);
      for (const [what, update] of Object.entries(UPDATES)) {
        await update(store, assets.get(what)?.uuid ?? "");
        expect(await updatedAt(what), what).toBeGreaterThan(before);
      }
    });

    test("a registration can be checked: nothing of it is stored", async () => {
      await using store = await openWithAccounts(harness);
      const taken = await register(store, someAsset({ supersim: someSuperSim() }));
      const free = someAsset({ prosim: someProSim() });
      for (let count = 0; count < 2; count++) expect(await store.assets.checkAsset(free)).toEqual({ ok: true });
      expect(await store.assets.findAssetByUuid(free.uuid)).toBeUndefined();
      expect(await store.assets.findAsset(ACCOUNT, free.serialNumber)).toBeUndefined();
      const same = await store.assets.checkAsset({ ...someAsset(), serialNumber: taken.supersim?.iccid ?? "" });
      const owner = { assetUuid: taken.uuid, accountId: ACCOUNT };
      expect(same).toMatchObject({ ok: false, taken: "serial_number", owner });
      await register(store, free);
    });

    test("are renamed and removed, and calls for a removed asset do nothing", async () => {
      await using store = await openWithAccounts(harness);
      const asset = await register(store, someAsset({ prosim: someProSim() }));
      await store.assets.describeAsset(asset.uuid, { name: "Pump" });
      expect(await store.assets.findAssetByUuid(asset.uuid)).toEqual({ ...asset, name: "Pump" });
      await Promise.all([store.assets.removeAsset(asset.uuid), store.assets.removeAsset(asset.uuid)]);
      await store.assets.describeAsset(asset.uuid, { name: "Gone" });
      await store.sims.setSimState(asset.uuid, "prosim", { status: "inactive", networkGroup: undefined });
      expect(await store.assets.findAssetByUuid(asset.uuid)).toBeUndefined();
      expect(await store.assets.findAssetByDeviceToken(hash(asset.uuid))).toBeUndefined();
      await register(store, { ...asset, uuid: someAsset().uuid });
    });
  });

  describeDomain("sims", harness, () => {
    test("keep the state that the operator confirmed, independently of each other", async () => {
      await using store = await openWithAccounts(harness);
      const asset = await register(store, someAsset({ supersim: someSuperSim(), prosim: someProSim() }));
      await store.sims.setSimState(asset.uuid, "supersim", { status: "inactive", networkGroup: "own" });
      await store.sims.setSimState(asset.uuid, "prosim", { status: "inactive", networkGroup: undefined });
      await store.sims.setSimState(asset.uuid, "supersim", { status: "active", networkGroup: undefined });
      expect(await store.assets.findAssetByUuid(asset.uuid)).toMatchObject({
        supersim: { status: "active", networkGroup: "own" },
        prosim: { status: "inactive" },
      });
      expect(await store.sims.hasIccid(asset.prosim?.iccid ?? "")).toBe(true);
      expect(await store.sims.hasIccid("8900")).toBe(false);
    });
  });
}
