import { expect, test } from "vitest";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { someFleet } from "../../support/control-plane/fleets.ts";
import { someAudit, someUser } from "../../support/control-plane/people.ts";
import { someSuperSim } from "../../support/control-plane/sims.ts";
import { ACCOUNT, describeDomain, hash, openWithAccounts, register, someAsset, type StoreHarness } from "./harness.ts";

/** Makes a record. Returns a change of it, which the second time changes nothing. */
type Prepare = (store: Store) => Promise<() => Promise<unknown>>;

const audit = someAudit("asset.changed");

const CHANGES: Readonly<Record<string, Prepare>> = {
  "the name of an asset": async (store) => {
    const { uuid } = await register(store, someAsset());
    return () => store.assets.describeAsset(uuid, { name: "Pump" }, audit);
  },
  "the type of an asset": async (store) => {
    const { uuid } = await register(store, someAsset());
    return () => store.assets.describeAsset(uuid, { type: "pump" }, audit);
  },
  "tags of an asset": async (store) => {
    const { uuid } = await register(store, someAsset());
    return () => store.assetSettings.changeTags(uuid, new Map([["role", "kiosk"]]), true, audit);
  },
  "a hold": async (store) => {
    const { uuid } = await register(store, someAsset());
    const hold = { reason: "Test", untilMs: 5000, setBy: { kind: "key", id: "key_1" } } as const;
    return () => store.assetSettings.changeHold(uuid, { ...hold, setAtMs: Date.now() }, audit);
  },
  "an allowance": async (store) => {
    const { uuid } = await register(store, someAsset({ supersim: someSuperSim() }));
    return () => store.dataPlans.setAllowance(uuid, "supersim", 1000, audit);
  },
  "a fleet": async (store) => {
    const fleet = someFleet();
    await store.fleets.createFleet(fleet, audit);
    return () => store.fleets.updateFleet(fleet.id, (fields) => ({ ...fields, onDrift: "repair" }), audit);
  },
  "a user": async (store) => {
    const user = someUser({ role: "viewer" });
    await store.users.createUser(user, undefined, audit);
    return () => store.users.changeUser(ACCOUNT, user.id, { name: "Kim", role: "installer", isDisabled: false }, audit);
  },
  "an API key": async (store) => {
    const fields = { name: "ci", createdAt: 1, lastUsedAt: undefined, revokedAt: undefined, permissions: [] };
    const owner = { accountId: ACCOUNT, role: "operator" as const, createdBy: undefined };
    await store.keys.createKey({ id: "key_1", ...owner, expiresAt: undefined, ...fields }, hash("secret"));
    return () => store.keys.changeKey(ACCOUNT, "key_1", { name: "nightly", expiresAt: 9_000_000_000 }, audit);
  },
  "settings of enrolment": async (store) => () => store.enrolments.setAutoAccept(ACCOUNT, true, audit),
  "settings of agents": async (store) => () => store.accounts.setOperatorsUpdateAgents(ACCOUNT, true, audit),
  "settings of data plans": async (store) => () => store.dataPlans.setDeployments(ACCOUNT, "wait", audit),
};

const SUPERSIM_STATE = { status: "inactive", networkGroup: "own" } as const;

/** How much there is of what changes leave. */
const traces = async (store: Store) => ({
  entries: (await store.audit.listEntries(ACCOUNT, 100)).length,
  events: (await store.accountEvents.read(ACCOUNT, 0, 100)).events.length,
});

/** Contract of stores for changes to what a record has already. */
export function unchangedContract(harness: StoreHarness): void {
  describeDomain("changes that change nothing", harness, () => {
    test.each(Object.entries(CHANGES))("leave no trace: %s", async (_what, prepare) => {
      await using store = await openWithAccounts(harness);
      const change = await prepare(store);
      const before = await traces(store);
      await change();
      const after = await traces(store);
      expect(after.entries).toBe(before.entries + 1);
      await change();
      expect(await traces(store)).toEqual(after);
    });

    test("leave a SIM as it is, and the log says that its operator was told", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset({ supersim: someSuperSim() }));
      await store.sims.setSimState(uuid, "supersim", SUPERSIM_STATE, audit);
      const after = await traces(store);
      await store.sims.setSimState(uuid, "supersim", SUPERSIM_STATE, audit);
      expect(await traces(store)).toEqual({ ...after, entries: after.entries + 1 });
      await store.sims.setSimState(uuid, "supersim", { ...SUPERSIM_STATE, pending: { since: 5 } }, audit);
      await store.sims.setSimState(uuid, "supersim", { ...SUPERSIM_STATE, networkGroup: "other" }, audit);
      expect((await traces(store)).events).toBe(after.events + 2);
    });
  });
}
