import { expect, test } from "vitest";
import { MAX_PLANS } from "../../../src/control-plane/core/fleets/waves.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import type { SelectorTerm } from "../../../src/protocol/fleets/selector.ts";
import { someFleet, somePlan, someRollout, someRolloutEvent, someTarget } from "../../support/control-plane/fleets.ts";
import { someAudit } from "../../support/control-plane/people.ts";
import { describeDomain, openWithAccounts, register, SOME_TIME, someAsset, type StoreHarness } from "./harness.ts";

const audit = someAudit("fleet.created");
const KIOSKS: readonly SelectorTerm[] = [{ op: "in", key: "role", values: ["kiosk"] }];

async function registerTagged(store: Store, tags: Record<string, string>): Promise<string> {
  const { uuid } = await register(store, someAsset({ type: "gateway" }));
  await store.assetSettings.changeTags(uuid, new Map(Object.entries(tags)), false, someAudit("asset.tagged"));
  return uuid;
}

async function create(store: Store, fields: Parameters<typeof someFleet>[0] = {}) {
  const fleet = someFleet(fields);
  await store.fleets.createFleet(fleet, audit);
  return fleet;
}

/** Contract of stores for plans of rollouts, and for what they are made from. */
export function rolloutPlansContract(harness: StoreHarness): void {
  describeDomain("plans of rollouts", harness, () => {
    test("members are listed with what a rollout would find there", async () => {
      await using store = await openWithAccounts(harness);
      const [fleet, other] = [await create(store, { apps: ["web", "db"] }), await create(store)];
      const plain = await registerTagged(store, { role: "kiosk", site: "a" });
      const special = await registerTagged(store, { role: "kiosk" });
      await store.fleets.claimApps(other.id, special, ["web", "cache"]);
      const hold = { untilMs: 5_000_000, reason: "Test", setAtMs: 1, setBy: { kind: "user", id: "usr_1" } } as const;
      await store.assetSettings.changeHold(special, hold, audit);
      const variable = { isSecret: false, keyId: "key", sealed: new Uint8Array([1]) };
      await store.assetSettings.changeVariables(special, new Map([["SITE", variable]]), false, audit);
      const list = async (limit = 10, after?: string) =>
        store.fleets.listCandidates(fleet, KIOSKS, SOME_TIME, limit, after);
      const found = new Map((await list()).map((each) => [each.assetUuid, each]));
      expect([...found.keys()]).toEqual([plain, special].toSorted());
      const asset = await store.assets.findAssetByUuid(plain);
      const facts = {
        isConnected: false,
        protocol: undefined,
        agentVersion: undefined,
        lastSeenAtMs: undefined,
        heldUntilMs: undefined,
        unacceptedSinceMs: undefined,
        conflicts: [],
        isBusy: false,
      };
      expect(found.get(plain)).toEqual({
        assetUuid: plain,
        assetName: asset?.name,
        serialNumber: asset?.serialNumber,
        type: "gateway",
        tags: new Map([
          ["role", "kiosk"],
          ["site", "a"],
        ]),
        facts,
        variableNames: new Set(),
      });
      expect(found.get(special)).toMatchObject({
        // Not the app that is none of this fleet's.
        facts: { ...facts, heldUntilMs: 5_000_000, conflicts: [{ app: "web", fleet: other.name }] },
        variableNames: new Set(["SITE"]),
      });
      const [first] = await list(1);
      expect((await list(10, first?.assetUuid)).map(({ assetUuid }) => assetUuid)).toEqual(
        [plain, special].toSorted().slice(1),
      );
      const rollout = someRollout(other);
      const target = someTarget(rollout, plain, { state: "deploying" });
      await store.rollouts.createRollout(rollout, [target], someRolloutEvent(rollout), () => ({ fields: {} }));
      expect((await list()).filter((each) => each.facts.isBusy).map(({ assetUuid }) => assetUuid)).toEqual([plain]);
      expect(await Promise.all([fleet, other].map(({ id }) => store.fleets.countOwned(id)))).toEqual([0, 1]);
    });

    test("a plan is kept as it is until it expires, is removed, or others take its place", async () => {
      await using store = await openWithAccounts(harness);
      const fleet = someFleet();
      await store.fleets.createFleet(fleet, someAudit("fleet.created"));
      const plan = somePlan(fleet, { waves: [["a", "b"], [], ["c"]], createdAtMs: 1_000, expiresAtMs: 2_000 });
      await store.rollouts.createPlan(plan);
      expect(await store.rollouts.findPlan(plan.id)).toEqual(plan);
      expect(await store.rollouts.findPlan("pln_none")).toBeUndefined();
      // Of another account, and one that has not expired when the next is made.
      const other = somePlan({ ...fleet, accountId: "acc_2" }, { createdAtMs: 1_000, expiresAtMs: 1_500 });
      const later = somePlan(fleet, { createdAtMs: 1_999, expiresAtMs: 9_000 });
      for (const each of [other, later]) await store.rollouts.createPlan(each);
      expect(await store.rollouts.findPlan(plan.id)).toEqual(plan);
      await store.rollouts.createPlan(somePlan(fleet, { createdAtMs: 2_000, expiresAtMs: 9_000 }));
      expect(await store.rollouts.findPlan(plan.id)).toBeUndefined();
      for (let index = 0; index < MAX_PLANS - 1; index++)
        await store.rollouts.createPlan(somePlan(fleet, { createdAtMs: 3_000 + index, expiresAtMs: 9_000 }));
      expect(await store.rollouts.findPlan(later.id)).toBeUndefined();
      expect(await store.rollouts.findPlan(other.id)).toEqual(other);
      const last = somePlan(fleet, { createdAtMs: 8_000, expiresAtMs: 9_000 });
      await store.rollouts.createPlan(last);
      await store.rollouts.removePlan(last.id);
      expect(await store.rollouts.findPlan(last.id)).toBeUndefined();
      // They go with their fleet.
      await store.fleets.removeFleet(fleet.id, someAudit("fleet.removed"));
      expect(await store.rollouts.findPlan(other.id)).toBeUndefined();
    });
  });
}
