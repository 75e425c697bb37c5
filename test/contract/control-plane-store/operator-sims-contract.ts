import { expect, test } from "vitest";
import type { UsageCoverage } from "../../../src/control-plane/core/sims/usage-coverage.ts";
import type { CountedSim } from "../../../src/control-plane/store/operator-usage.ts";
import type { SimCheck, SimEntry, SimFilter } from "../../../src/control-plane/store/sims.ts";
import { someAudit } from "../../support/control-plane/people.ts";
import { someProSim, someSuperSim } from "../../support/control-plane/sims.ts";
import {
  ACCOUNT,
  describeDomain,
  openWithAccounts,
  register,
  someAsset,
  type StoreHarness,
  TWO_ACCOUNTS,
} from "./harness.ts";

const UUID = "0b7e5a52-6f0c-4c1e-9a52-0d3f3a0f6c11";
const OTHER = "1b7e5a52-6f0c-4c1e-9a52-0d3f3a0f6c11";
const SUPER: CountedSim = { assetUuid: UUID, type: "supersim", period: "day" };

const check = (fields: Partial<SimCheck> = {}): SimCheck => ({
  operatorStatus: "active",
  allowanceBytes: 10_000_000_000,
  isLost: false,
  checkedAtMs: 1_000,
  nextCheckAtMs: 5_000,
  ...fields,
});
const coverage: UsageCoverage = { from: 0, finalUntil: 86_400, until: 172_800, readAtMs: 7 };

const ALL: SimFilter = { type: undefined, attention: undefined };
const usageOf = (bytes: number) => ({ bucket: "a", start: 0, bytes });

/** The first digit of each asset's UUID, with the type of the SIM. */
const names = (sims: readonly SimEntry[]) => sims.map(({ asset, type }) => `${asset.uuid[0]} ${type}`);

/** Contract of stores for what SIM operators say. */
export function operatorSimsContract(harness: StoreHarness): void {
  const open = async () => {
    const store = await openWithAccounts(harness);
    const supersim = someSuperSim({ networkGroup: "a", status: "active" });
    await register(store, someAsset({ uuid: UUID, supersim, prosim: someProSim({ status: "active" }) }));
    const find = async () => (await store.assets.findAsset(ACCOUNT, UUID))!;
    return { store, find };
  };

  describeDomain("SIMs at their operators", harness, () => {
    test("what is pending is part of the asset, until it is replaced", async () => {
      const { store, find } = await open();
      await using _store = store;
      const pending = { status: "inactive", networkGroup: "b", since: 12 } as const;
      await store.sims.setSimState(UUID, "supersim", { status: "active", networkGroup: "a", pending }, undefined, 99);
      expect((await find()).supersim).toMatchObject({ status: "active", networkGroup: "a", pending });
      expect((await find()).prosim?.pending).toBeUndefined();
      await store.sims.setSimState(UUID, "supersim", { status: "inactive", networkGroup: "b" });
      expect((await find()).supersim).toMatchObject({ status: "inactive", networkGroup: "b" });
      expect((await find()).supersim?.pending).toBeUndefined();
    });

    test("the operator's word for a status goes with the status, and stays while that is confirmed", async () => {
      const { store } = await open();
      await using _store = store;
      const word = async () => (await store.sims.findSim(ACCOUNT, UUID, "supersim"))?.operatorStatus;
      const state = { status: "active", networkGroup: "a" } as const;
      await store.sims.recordCheck(UUID, "supersim", state, check({ operatorStatus: "ready" }), undefined);
      await store.sims.setSimState(UUID, "supersim", { ...state, pending: { status: "inactive", since: 1 } });
      expect(await word()).toBe("ready");
      await store.sims.setSimState(UUID, "supersim", { ...state, status: "inactive" });
      expect(await word()).toBeUndefined();
    });

    test("the operator's words come with its answer to a change, and stay without", async () => {
      const { store } = await open();
      await using _store = store;
      const state = { status: "active", networkGroup: "a" } as const;
      const said = async () => (await store.sims.findSim(ACCOUNT, UUID, "supersim"))?.operatorStatus;
      await store.sims.setSimState(UUID, "supersim", state);
      expect(await said()).toBeUndefined();
      await store.sims.setSimState(UUID, "supersim", state, undefined, 99, "scheduled");
      expect(await said()).toBe("scheduled");
      await store.sims.setSimState(UUID, "supersim", state);
      expect(await said()).toBe("scheduled");
    });

    test("SIMs are due by time, those with something pending first; each type by itself", async () => {
      const { store } = await open();
      await using _store = store;
      await register(store, someAsset({ uuid: OTHER, serialNumber: "SN-2", supersim: someSuperSim() }));
      const uuids = async (nowMs: number, limit = 10) =>
        (await store.sims.listDueSims(["supersim"], nowMs, limit)).map(({ asset }) => asset.uuid);
      expect((await uuids(0)).toSorted()).toEqual([UUID, OTHER]);
      const state = { status: "active", networkGroup: "a" } as const;
      await store.sims.recordCheck(UUID, "supersim", state, check({ nextCheckAtMs: 5_000 }), undefined);
      await store.sims.postponeCheck(OTHER, "supersim", 2_000);
      expect(await uuids(1_999)).toEqual([]);
      expect(await uuids(2_000)).toEqual([OTHER]);
      await store.sims.setSimState(UUID, "supersim", { ...state, pending: { since: 1 } }, undefined, 4_000);
      expect(await uuids(4_000)).toEqual([UUID, OTHER]);
      expect(await uuids(4_000, 1)).toEqual([UUID]);
      expect((await store.sims.listDueSims(["supersim", "prosim"], 4_000, 10)).map(({ type }) => type)).toEqual([
        "supersim",
        "supersim",
        "prosim",
      ]);
      expect(await store.sims.listDueSims([], 4_000, 10)).toEqual([]);
    });

    test("SIMs are listed by account, in the order of their assets, with what was said of them last", async () => {
      const { store } = await open();
      await using _store = store;
      const both = { uuid: OTHER, serialNumber: "SN-2", supersim: someSuperSim(), prosim: someProSim() };
      await register(store, someAsset({ ...both, createdAt: 5_000_000_000 }));
      const mixed = { uuid: "2b7e5a52-6f0c-4c1e-9a52-0d3f3a0f6c11", serialNumber: "SN-3", supersim: someSuperSim() };
      await register(store, someAsset({ ...mixed, createdAt: 5_000_000_000 }));
      const [, stranger] = TWO_ACCOUNTS;
      await register(store, someAsset({ accountId: stranger, serialNumber: "SN-4", supersim: someSuperSim() }));
      const state = { status: "inactive", networkGroup: "b", pending: { status: "active", since: 3 } } as const;
      await store.sims.recordCheck(UUID, "supersim", state, check({ operatorStatus: "scheduled" }), undefined);
      const whole = await store.sims.listSims(ACCOUNT, ALL, 10);
      const expected = ["0 prosim", "0 supersim", "1 prosim", "1 supersim", "2 supersim"];
      expect(names(whole)).toEqual(expected);
      expect(whole[1]).toMatchObject({ isLost: false, operatorStatus: "scheduled", checkedAtMs: 1_000 });
      expect(whole[1]?.asset.supersim).toMatchObject(state);
      expect(whole[0]).toMatchObject({ operatorStatus: undefined, checkedAtMs: undefined });
      // From each position on, and of each type.
      for (const [index, { asset, type }] of whole.entries()) {
        const after = { createdAt: asset.createdAt, assetUuid: asset.uuid, type };
        expect(names(await store.sims.listSims(ACCOUNT, ALL, 2, after))).toEqual(expected.slice(index + 1, index + 3));
      }
      expect(names(await store.sims.listSims(ACCOUNT, { ...ALL, type: "prosim" }, 10))).toEqual([
        "0 prosim",
        "1 prosim",
      ]);
      expect(await store.sims.findSim(ACCOUNT, UUID, "supersim")).toEqual(whole[1]);
      expect(await store.sims.findSim(stranger, UUID, "supersim")).toBeUndefined();
      expect(await store.sims.findSim(ACCOUNT, mixed.uuid, "prosim")).toBeUndefined();
    });

    test("a SIM that is released leaves its asset with its usage and identifiers, and may be registered elsewhere", async () => {
      const { store, find } = await open();
      await using _store = store;
      await store.operatorUsage.replaceUsage(SUPER, [{ start: 0, end: 86_400 }], [usageOf(7)], coverage);
      const asset = await find();
      const audit = someAudit("sim.released");
      const registered = someAudit("asset.registered");
      expect(await store.sims.releaseSim(asset, "supersim", audit)).toBe(true);
      // Not of an asset that has another one by now, or none.
      expect(await store.sims.releaseSim(asset, "supersim", audit)).toBe(false);
      expect(await find()).toEqual({ ...asset, supersim: undefined });
      const taken = someAsset({ uuid: OTHER, accountId: TWO_ACCOUNTS[1], serialNumber: "SN-2", prosim: asset.prosim });
      const free = { ...taken, prosim: undefined, supersim: asset.supersim };
      expect(await store.assets.registerAsset(taken, Uint8Array.of(1), registered)).toMatchObject({
        taken: "prosim.iccid",
      });
      expect(await store.assets.registerAsset(free, Uint8Array.of(1), registered)).toEqual({ ok: true });
      expect(await store.operatorUsage.findCoverage({ ...SUPER, assetUuid: OTHER })).toBeUndefined();
      expect((await store.audit.listEntries(ACCOUNT, 10, { actions: ["sim.released"] })).length).toBe(1);
    });

    test("a check stores what was found; it is told only with an entry", async () => {
      const { store, find } = await open();
      await using _store = store;
      const state = { status: "inactive", networkGroup: "b" } as const;
      const { lastId } = await store.accountEvents.read(ACCOUNT, 0, 100);
      const told = async () => {
        const { events } = await store.accountEvents.read(ACCOUNT, lastId, 100);
        return events.map(({ event }) => event.type);
      };
      await store.sims.recordCheck(UUID, "supersim", state, check({ isLost: true }), undefined);
      expect(await told()).toEqual([]);
      expect((await find()).supersim).toMatchObject({ status: "inactive", networkGroup: "b" });
      expect((await store.sims.listDueSims(["supersim"], 5_000, 10))[0]?.isLost).toBe(true);
      await store.sims.recordCheck(UUID, "supersim", state, check(), someAudit("sim.found", ACCOUNT));
      expect(await told()).toEqual(["sim.changed"]);
      expect((await store.sims.listDueSims(["supersim"], 5_000, 10))[0]?.isLost).toBe(false);
      // Of a SIM that is not there any more nothing is stored, and nothing is told.
      await store.sims.recordCheck(OTHER, "supersim", state, check(), someAudit("sim.found", ACCOUNT));
      expect(await told()).toEqual(["sim.changed"]);
    });
  });

  describeDomain("usage as operators count it", harness, () => {
    test("ranges are replaced as a whole, by SIM and period", async () => {
      const { store } = await open();
      await using _store = store;
      const { operatorUsage } = store;
      expect(await operatorUsage.findCoverage(SUPER)).toBeUndefined();
      const usage = [
        { bucket: "b", start: 0, bytes: 5_000_000_000 },
        { bucket: "a", start: 86_400, bytes: 2 },
        { bucket: "B", start: 86_400, bytes: 3 },
      ];
      await operatorUsage.replaceUsage(SUPER, [{ start: 0, end: 172_800 }], usage, coverage);
      expect(await operatorUsage.findCoverage(SUPER)).toEqual(coverage);
      const all = { start: 0, end: 172_800 };
      expect(await operatorUsage.listUsage(SUPER, all)).toEqual([usage[0], usage[2], usage[1]]);
      expect(await operatorUsage.listUsage(SUPER, { start: 1, end: 86_400 })).toEqual([]);
      expect(await operatorUsage.listUsage({ ...SUPER, period: "hour" }, all)).toEqual([]);
      expect(await operatorUsage.listUsage({ ...SUPER, type: "prosim" }, all)).toEqual([]);
      // A correction: what is not said any more is gone.
      const corrected = { ...coverage, finalUntil: 172_800, readAtMs: 8 };
      const later = [{ bucket: "a", start: 86_400, bytes: 1 }];
      await operatorUsage.replaceUsage(SUPER, [{ start: 86_400, end: 172_800 }], later, corrected);
      expect(await operatorUsage.listUsage(SUPER, all)).toEqual([usage[0], ...later]);
      expect(await operatorUsage.findCoverage(SUPER)).toEqual(corrected);
    });

    test("it goes with its asset, and comes for none that is not there", async () => {
      const { store } = await open();
      await using _store = store;
      const { operatorUsage } = store;
      const usage = [{ bucket: "a", start: 0, bytes: 1 }];
      await operatorUsage.replaceUsage(SUPER, [{ start: 0, end: 86_400 }], usage, coverage);
      await store.assets.removeAsset(UUID);
      await operatorUsage.replaceUsage(SUPER, [{ start: 0, end: 86_400 }], usage, coverage);
      expect(await operatorUsage.findCoverage(SUPER)).toBeUndefined();
      expect(await operatorUsage.listUsage(SUPER, { start: 0, end: 86_400 })).toEqual([]);
    });
  });
}
