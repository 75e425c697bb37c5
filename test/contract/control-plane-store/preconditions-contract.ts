import { expect, test } from "vitest";
import type { Store } from "../../../src/control-plane/store/store.ts";
import type { Precondition } from "../../../src/control-plane/store/precondition.ts";
import { someFleet } from "../../support/control-plane/fleets.ts";
import { someAudit, someUser } from "../../support/control-plane/people.ts";
import { someSuperSim } from "../../support/control-plane/sims.ts";
import { ACCOUNT, describeDomain, hash, openWithAccounts, register, someAsset, type StoreHarness } from "./harness.ts";

class Stale extends Error {}

/** Requires that a record is as it was at first. */
function unchanged<T>(first: T): Precondition<T> {
  const text = toText(first);
  return (current) => {
    if (toText(current) !== text) throw new Stale();
  };
}

const toText = (record: unknown): string =>
  JSON.stringify(record instanceof Map ? [...(record as Map<unknown, unknown>)] : record);

/** Makes a record. Returns a change of it, to something else for each number, that requires the record as it was made. */
type Prepare = (store: Store) => Promise<(number: number) => Promise<unknown>>;

const audit = someAudit("asset.changed");

const variable = (value: string) => ({ isSecret: true, keyId: "key_a", sealed: Buffer.from(value) });

async function someKey(store: Store) {
  const fields = { name: "ci", createdAt: 1, lastUsedAt: undefined, revokedAt: undefined, permissions: [] };
  const key = {
    id: "key_1",
    accountId: ACCOUNT,
    role: "operator" as const,
    expiresAt: undefined,
    createdBy: undefined,
  };
  await store.keys.createKey({ ...key, ...fields }, hash("secret"));
  return (await store.keys.findKey(key.id))!;
}

async function someColleague(store: Store) {
  const user = someUser({ role: "viewer" });
  await store.users.createUser(user, undefined, audit);
  return (await store.users.findUser(user.id))!;
}

const CHANGES: Readonly<Record<string, Prepare>> = {
  "tags of an asset": async (store) => {
    const { uuid } = await register(store, someAsset());
    return (number) =>
      store.assetSettings.changeTags(
        uuid,
        new Map([["role", `${number}`]]),
        true,
        audit,
        unchanged<ReadonlyMap<string, string>>(new Map()),
      );
  },
  "variables of an asset": async (store) => {
    const { uuid } = await register(store, someAsset());
    await store.assetSettings.changeVariables(uuid, new Map([["SITE", variable("first")]]), true, audit);
    const first = unchanged(await store.assetSettings.readVariables(uuid));
    return (number) =>
      store.assetSettings.changeVariables(uuid, new Map([["SITE", variable(`${number}`)]]), true, audit, first);
  },
  "a hold": async (store) => {
    const { uuid } = await register(store, someAsset());
    const setBy = { kind: "command_line", id: "root", name: "root" } as const;
    const hold = { reason: "first", untilMs: undefined, setAtMs: 1, setBy };
    await store.assetSettings.changeHold(uuid, hold, audit);
    const first = unchanged<unknown>(hold);
    return (number) =>
      store.assetSettings.changeHold(
        uuid,
        number % 2 === 0 ? undefined : { ...hold, reason: `${number}` },
        audit,
        first,
      );
  },
  "an allowance": async (store) => {
    const { uuid } = await register(store, someAsset({ supersim: someSuperSim() }));
    return (number) =>
      store.dataPlans.setAllowance(uuid, "supersim", number * 1_000, audit, unchanged<unknown>(undefined));
  },
  "a fleet": async (store) => {
    const fleet = someFleet();
    await store.fleets.createFleet(fleet, audit);
    const first = unchanged((await store.fleets.findFleetById(fleet.id))!);
    return async (number) => {
      // Whether it was there to be changed, or removed.
      if (number % 2 === 0) return (await store.fleets.removeFleet(fleet.id, audit, first)) || undefined;
      const decide = (current: typeof fleet) => {
        first(current);
        return { onDrift: "repair" as const, pausedReason: `${number}` };
      };
      return store.fleets.updateFleet(fleet.id, decide, audit);
    };
  },
  "a user": async (store) => {
    const user = await someColleague(store);
    const precondition = unchanged(user);
    return async (number) => {
      const result =
        number % 2 === 0
          ? await store.users.removeUser(ACCOUNT, user.id, audit, precondition)
          : await store.users.changeUser(ACCOUNT, user.id, { name: `${number}` }, audit, { precondition });
      return result === "unknown" ? undefined : result;
    };
  },
  "an API key": async (store) => {
    const key = await someKey(store);
    const first = unchanged(key);
    return (number) =>
      number % 2 === 0
        ? store.keys.revokeKey(key.id, 5, audit, first)
        : store.keys.changeKey(ACCOUNT, key.id, { name: `${number}` }, audit, undefined, first);
  },
  "settings of enrolment": async (store) => () =>
    store.enrolments.setAutoAccept(ACCOUNT, true, audit, unchanged(false)).then(() => "changed"),
  "settings of agents": async (store) => () =>
    store.accounts.setOperatorsUpdateAgents(ACCOUNT, true, audit, unchanged(false)).then(() => "changed"),
  "settings of data plans": async (store) => (number) =>
    store.dataPlans
      .setDeployments(ACCOUNT, number % 2 === 0 ? "wait" : "urgent", audit, unchanged<unknown>("ignore"))
      .then(() => "changed"),
};

/** Contract of stores for changes with a precondition. */
export function preconditionsContract(harness: StoreHarness): void {
  describeDomain("preconditions", harness, () => {
    test.each(Object.entries(CHANGES))(
      "of changes at once that require the same of %s, exactly one is made",
      async (_what, prepare) => {
        await using store = await openWithAccounts(harness);
        const change = await prepare(store);
        const results = await Promise.allSettled([1, 2, 3, 4].map(change));
        const made = results.filter((each) => each.status === "fulfilled" && each.value !== undefined);
        expect(made).toHaveLength(1);
        for (const each of results) if (each.status === "rejected") expect(each.reason).toBeInstanceOf(Stale);
      },
    );

    test("a change whose precondition fails leaves the record, the audit log and the events as they are", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      const before = [await store.audit.listEntries(ACCOUNT, 10), await store.accountEvents.read(ACCOUNT, 0, 10)];
      const refuse = () => {
        throw new Stale();
      };
      const tags = new Map([["role", "kiosk"]]);
      await expect(store.assetSettings.changeTags(uuid, tags, true, audit, refuse)).rejects.toThrow(Stale);
      await expect(store.assets.removeAsset(uuid, audit, refuse)).rejects.toThrow(Stale);
      expect(await store.assets.findAssetByUuid(uuid)).toBeDefined();
      expect(await store.assetSettings.readTags(uuid)).toEqual(new Map());
      expect([await store.audit.listEntries(ACCOUNT, 10), await store.accountEvents.read(ACCOUNT, 0, 10)]).toEqual(
        before,
      );
    });

    test("an asset is removed only as it was", async () => {
      await using store = await openWithAccounts(harness);
      const asset = await register(store, someAsset());
      await store.assets.describeAsset(asset.uuid, { name: "renamed" });
      const remove = (name: string) =>
        store.assets.removeAsset(asset.uuid, audit, (current) => unchanged(name)(current.name));
      await expect(remove(asset.name)).rejects.toThrow(Stale);
      await remove("renamed");
      expect(await store.assets.findAssetByUuid(asset.uuid)).toBeUndefined();
    });
  });
}
