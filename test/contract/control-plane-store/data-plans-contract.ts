import { expect, test } from "vitest";
import type { DataPlanFinding } from "../../../src/control-plane/store/data-plans.ts";
import { someAudit } from "../../support/control-plane/people.ts";
import { someProSim, someSuperSim } from "../../support/control-plane/sims.ts";
import { ACCOUNT, describeDomain, openWithAccounts, register, someAsset, type StoreHarness } from "./harness.ts";

const UUID = "0b7e5a52-6f0c-4c1e-9a52-0d3f3a0f6c11";
const OTHER = "1b7e5a52-6f0c-4c1e-9a52-0d3f3a0f6c11";
const AT = 1_000;
const UNTIL = 5_000;
const FORESEEN: DataPlanFinding = { state: "foreseen", until: UNTIL };
const SPENT: DataPlanFinding = { state: "spent", until: UNTIL };
const TIME = { now: AT, notSeenBefore: 0, serviceNowMs: 0 };

/** Contract of stores for the data plans of SIMs. */
export function dataPlansContract(harness: StoreHarness): void {
  const open = async () => {
    const store = await openWithAccounts(harness);
    const sims = { supersim: someSuperSim(), prosim: someProSim() };
    await register(store, someAsset({ uuid: UUID, ...sims }));
    const set = (type: "supersim" | "prosim", bytes: number | undefined) =>
      store.dataPlans.setAllowance(UUID, type, bytes, someAudit("allowance.set", ACCOUNT));
    const tell = (allowanceBytes: number | undefined) => {
      const check = { operatorStatus: "active", allowanceBytes, isLost: false, checkedAtMs: 1, nextCheckAtMs: 1 };
      return store.sims.recordCheck(UUID, "supersim", { status: "active", networkGroup: "a" }, check, undefined);
    };
    const attention = async () => {
      const { assets: page } = await store.assets.listAssets(
        ACCOUNT,
        { status: undefined, type: undefined, text: undefined, attention: "data" },
        10,
        undefined,
        TIME,
      );
      const found = await store.assets.findAssetWithState(ACCOUNT, UUID, TIME);
      const { reasons } = await store.assets.countAssets(ACCOUNT, TIME);
      return { listed: page.map(({ asset }) => asset.uuid), bits: found?.state.reasonBits, counted: reasons.data };
    };
    return { store, set, tell, attention };
  };

  describeDomain("allowances of SIMs", harness, () => {
    test("what was set takes precedence over what the operator says", async () => {
      const { store, set, tell } = await open();
      await using _store = store;
      const find = () => store.dataPlans.findAllowance(UUID, "supersim");
      expect(await find()).toBeUndefined();
      await tell(7_000_000_000);
      expect(await find()).toEqual({ bytes: 7_000_000_000, source: "operator" });
      expect(await set("supersim", 9_000_000_000)).toBe(true);
      expect(await set("supersim", 9_000_000_000)).toBe(false);
      expect(await find()).toEqual({ bytes: 9_000_000_000, source: "manual" });
      expect(await store.dataPlans.findAllowance(UUID, "prosim")).toBeUndefined();
      expect(await set("supersim", undefined)).toBe(true);
      expect(await find()).toEqual({ bytes: 7_000_000_000, source: "operator" });
      await tell(undefined);
      expect(await find()).toBeUndefined();
      expect(await store.dataPlans.findAllowance(OTHER, "supersim")).toBeUndefined();
      const entries = await store.audit.listEntries(ACCOUNT, 10, { actions: ["allowance.set"] });
      expect(entries).toHaveLength(2);
    });

    test("SIMs with an allowance or a finding are due, by time, and at once when one was set", async () => {
      const { store, set, tell } = await open();
      await using _store = store;
      const due = async (nowMs: number, limit = 10) =>
        (await store.dataPlans.listDue(nowMs, limit)).map(({ asset, type }) => `${asset.uuid === UUID} ${type}`);
      expect(await due(1_000_000)).toEqual([]);
      await set("prosim", 5);
      expect(await due(0)).toEqual(["true prosim"]);
      await store.dataPlans.recordFinding(UUID, "prosim", SPENT, 2_000, AT);
      expect(await due(1_999)).toEqual([]);
      await tell(5);
      expect(await due(2_000)).toEqual(["true supersim", "true prosim"]);
      expect(await due(2_000, 1)).toEqual(["true supersim"]);
      await set("prosim", undefined);
      const found = (await store.dataPlans.listDue(0, 10)).find(({ type }) => type === "prosim");
      expect(found).toMatchObject({ allowance: undefined, finding: SPENT });
      await store.dataPlans.recordFinding(UUID, "prosim", undefined, 2_000, AT);
      expect(await due(2_000)).toEqual(["true supersim"]);
    });

    test("a plan is due at once when the operator says another allowance", async () => {
      const { store, tell } = await open();
      await using _store = store;
      const due = async () => (await store.dataPlans.listDue(1_999, 10)).map(({ type }) => type);
      const judged = () => store.dataPlans.recordFinding(UUID, "supersim", undefined, 2_000, AT);
      await tell(5);
      await judged();
      await tell(5);
      expect(await due()).toEqual([]);
      await tell(4);
      expect(await due()).toEqual(["supersim"]);
      await judged();
      expect(await due()).toEqual([]);
      await tell(undefined);
      await tell(4);
      expect(await due()).toEqual(["supersim"]);
    });

    test("a finding is the asset's attention while one of its SIMs has it, and each change is told", async () => {
      const { store, set, attention } = await open();
      await using _store = store;
      await set("supersim", 5);
      await set("prosim", 5);
      const { lastId } = await store.accountEvents.read(ACCOUNT, 0, 100);
      expect(await attention()).toEqual({ listed: [], bits: 0, counted: undefined });
      const recordFinding = store.dataPlans.recordFinding.bind(store.dataPlans);
      expect(await recordFinding(UUID, "supersim", FORESEEN, 1, AT)).toBe(false);
      expect(await attention()).toEqual({ listed: [UUID], bits: 256, counted: 1 });
      // The same again is no news, whatever the month.
      expect(await recordFinding(UUID, "supersim", { ...FORESEEN, until: UNTIL + 1 }, 2, AT)).toBe(false);
      expect(await recordFinding(UUID, "prosim", SPENT, 1, AT)).toBe(false);
      expect(await recordFinding(UUID, "supersim", undefined, 1, AT)).toBe(false);
      expect(await attention()).toEqual({ listed: [UUID], bits: 256, counted: 1 });
      expect(await recordFinding(UUID, "prosim", undefined, 1, AT)).toBe(true);
      expect(await attention()).toEqual({ listed: [], bits: 0, counted: undefined });
      expect(await recordFinding(OTHER, "prosim", SPENT, 1, AT)).toBe(false);
      const { events } = await store.accountEvents.read(ACCOUNT, lastId, 100);
      const told = events.map(({ event }) => [event.type, "attention" in event ? event.attention : undefined]);
      const data = ["sim.changed", ["data"]];
      expect(told).toEqual([data, data, data, ["sim.changed", []]]);
    });

    test("lists of SIMs have the plan as it was judged last, and find those that run out", async () => {
      const { store, set, tell } = await open();
      await using _store = store;
      const list = (attention?: "data") => store.sims.listSims(ACCOUNT, { type: undefined, attention }, 10);
      const found = async () => (await list("data")).map(({ type }) => type);
      expect(await list()).toMatchObject([
        { type: "prosim", allowance: undefined, planUsage: undefined },
        { type: "supersim", allowance: undefined, planUsage: undefined },
      ]);
      await tell(7_000_000_000);
      await set("prosim", 5);
      const usage = { usedBytes: 4_000_000_000, forecastBytes: 8_000_000_000, asOf: 900 };
      await store.dataPlans.recordFinding(UUID, "supersim", FORESEEN, 1, AT, usage);
      const supersim = { allowance: { bytes: 7_000_000_000, source: "operator" }, planUsage: usage };
      expect(await list()).toMatchObject([
        { allowance: { bytes: 5, source: "manual" }, planUsage: undefined },
        supersim,
      ]);
      expect(await found()).toEqual(["supersim"]);
      // The usage was not to be had: what was found last stays.
      await store.dataPlans.recordFinding(UUID, "supersim", FORESEEN, 2, AT);
      expect(await store.sims.findSim(ACCOUNT, UUID, "supersim")).toMatchObject(supersim);
      await store.dataPlans.recordFinding(UUID, "prosim", SPENT, 1, AT);
      expect(await found()).toEqual(["prosim", "supersim"]);
      await store.dataPlans.recordFinding(UUID, "supersim", undefined, 2, AT, { ...usage, usedBytes: 0 });
      expect(await found()).toEqual(["prosim"]);
      expect(await list()).toMatchObject([{}, { planUsage: { usedBytes: 0 } }]);
    });

    test("findings about both SIMs of an asset at the same time leave the right attention", async () => {
      const { store, set, attention } = await open();
      await using _store = store;
      await set("supersim", 5);
      await set("prosim", 5);
      for (let round = 0; round < 10; round++) {
        const finding = round % 2 === 0 ? SPENT : undefined;
        await Promise.all([
          store.dataPlans.recordFinding(UUID, "supersim", finding, 1, AT),
          store.dataPlans.recordFinding(UUID, "prosim", finding, 1, AT),
        ]);
        expect((await attention()).bits).toBe(finding ? 256 : 0);
      }
    });

    test("a spent plan counts until its month ends, and only of an active SIM", async () => {
      const { store, set } = await open();
      await using _store = store;
      const find = (now: number) => store.dataPlans.findSpent(UUID, now);
      await set("supersim", 5);
      await store.dataPlans.recordFinding(UUID, "supersim", FORESEEN, 1, AT);
      expect(await find(AT)).toBeUndefined();
      await store.dataPlans.recordFinding(UUID, "supersim", SPENT, 1, AT);
      expect(await find(UNTIL - 1)).toEqual({ type: "supersim", allowanceBytes: 5, until: UNTIL });
      expect(await find(UNTIL)).toBeUndefined();
      await store.sims.setSimState(UUID, "supersim", { status: "inactive", networkGroup: "a" });
      expect(await find(AT)).toBeUndefined();
    });

    test("the settings are the account's own", async () => {
      const { store } = await open();
      await using _store = store;
      const { dataPlans } = store;
      expect(await dataPlans.readDeployments(ACCOUNT)).toBe("ignore");
      await dataPlans.setDeployments(ACCOUNT, "wait", someAudit("settings.changed", ACCOUNT));
      await dataPlans.setDeployments(ACCOUNT, "urgent", someAudit("settings.changed", ACCOUNT));
      expect(await dataPlans.readDeployments(ACCOUNT)).toBe("urgent");
      expect(await dataPlans.readDeployments("acc_other")).toBe("ignore");
    });
  });
}
