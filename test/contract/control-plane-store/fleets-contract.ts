import fc from "fast-check";
import { expect, test } from "vitest";
import { matchesSelector, parseSelector, type SelectorTerm } from "../../../src/protocol/fleets/selector.ts";
import { KEPT_REVISIONS, MAX_FLEETS } from "../../../src/control-plane/store/fleets.ts";
import type { Revision } from "../../../src/control-plane/core/fleets/fleet.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { someFleet, someRevision, someRollout, someRolloutEvent } from "../../support/control-plane/fleets.ts";
import { someAudit } from "../../support/control-plane/people.ts";
import {
  ACCOUNT,
  describeDomain,
  openWithAccounts,
  register,
  someAsset,
  type StoreHarness,
  PROPERTY_RUNS,
} from "./harness.ts";

const audit = someAudit("fleet.created");

function terms(text: string): readonly SelectorTerm[] {
  const parsed = parseSelector(text);
  if (!parsed.ok) throw new Error(`${text}: ${parsed.reason}`);
  return parsed.terms;
}

async function registerTagged(store: Store, tags: Record<string, string>, type = "gateway"): Promise<string> {
  const { uuid } = await register(store, someAsset({ type }));
  await store.assetSettings.changeTags(uuid, new Map(Object.entries(tags)), false, someAudit("asset.tagged"));
  return uuid;
}

async function create(store: Store, fields: Parameters<typeof someFleet>[0] = {}) {
  const fleet = someFleet(fields);
  expect(await store.fleets.createFleet(fleet, audit)).toEqual({ kind: "created" });
  return fleet;
}

const matching = async (store: Store, selector: string) =>
  (await store.fleets.listMatching(ACCOUNT, terms(selector), 1_000)).map(({ assetUuid }) => assetUuid);

/** Contract of stores for fleets, their revisions and members. */
export function fleetsContract(harness: StoreHarness): void {
  describeDomain("fleets", harness, () => {
    test("are found as they were created, by name and in the order of names", async () => {
      await using store = await openWithAccounts(harness);
      const fleet = await create(store, { name: "kiosks", pausedReason: "backup", stableRevision: undefined });
      await create(store, { name: "a" });
      await create(store, { name: "kiosks", accountId: "acc_2" });
      expect(await store.fleets.findFleet(ACCOUNT, "kiosks")).toEqual(fleet);
      expect(await store.fleets.findFleetById(fleet.id)).toEqual(fleet);
      expect((await store.fleets.listFleets(ACCOUNT, 10)).map(({ name }) => name)).toEqual(["a", "kiosks"]);
      expect((await store.fleets.listFleets(ACCOUNT, 10, "a")).map(({ name }) => name)).toEqual(["kiosks"]);
      expect(await store.fleets.createFleet(someFleet({ name: "kiosks" }), audit)).toEqual({ kind: "name_taken" });
    });

    test("are limited in number for an account, also when created at the same time", async () => {
      await using store = await openWithAccounts(harness);
      for (let index = 1; index < MAX_FLEETS; index++) await store.fleets.createFleet(someFleet(), audit);
      const results = await Promise.all([1, 2, 3].map(() => store.fleets.createFleet(someFleet(), audit)));
      expect(results.map(({ kind }) => kind).toSorted()).toEqual(["created", "too_many", "too_many"]);
    });

    test("change as decided from what is stored", async () => {
      await using store = await openWithAccounts(harness);
      const fleet = await create(store);
      const other = await create(store);
      const after = await store.fleets.updateFleet(fleet.id, () => ({ stableRevision: 3, apps: ["web", "db"] }), audit);
      expect(after).toEqual({ ...fleet, stableRevision: 3, apps: ["web", "db"], version: 2 });
      expect(await store.fleets.findFleetById(fleet.id)).toEqual(after);
      expect(await store.fleets.updateFleet(fleet.id, () => undefined)).toEqual(after);
      expect(await store.fleets.updateFleet(fleet.id, () => ({ name: other.name }))).toBe("name_taken");
      expect(await store.fleets.updateFleet("flt_none", () => ({ name: "x" }))).toBeUndefined();
    });

    test("revisions are numbered without gaps, and the same content makes no other", async () => {
      await using store = await openWithAccounts(harness);
      const fleet = await create(store);
      const make = (hash: string, apps = someRevision(fleet, 0).revision.apps, more: Partial<Revision> = {}) =>
        store.fleets.createRevision(
          fleet.id,
          { hash, apps },
          (number) => someRevision(fleet, number, { hash, apps, comment: "why", ...more }),
          audit,
        );
      expect(await make("one")).toMatchObject({ kind: "created", revision: { number: 1, hash: "one" } });
      expect(await make("one")).toMatchObject({ kind: "unchanged", revision: { number: 1 } });
      const two = await Promise.all([make("two"), make("two")]);
      expect(two.map(({ kind }) => kind).toSorted()).toEqual(["created", "unchanged"]);
      // With the version of the agent that it asks for, and without apps.
      expect(await make("one", [], { agentVersion: "1.5.0" })).toMatchObject({
        kind: "created",
        revision: { number: 3 },
      });
      expect((await store.fleets.findRevision(fleet.id, 3))?.revision).toMatchObject({
        agentVersion: "1.5.0",
        apps: [],
      });
      expect(await make("x", [{ name: "foreign", image: undefined, shownImage: undefined }])).toEqual({
        kind: "foreign_app",
        app: "foreign",
      });
      const stored = await store.fleets.findRevision(fleet.id, 2);
      expect(stored?.revision).toEqual(someRevision(fleet, 2, { hash: "two", comment: "why" }).revision);
      expect(Buffer.from(stored?.sealed ?? []).toString()).toBe("content 2");
      expect((await store.fleets.listRevisions(fleet.id, 10)).map(({ number }) => number)).toEqual([3, 2, 1]);
      expect((await store.fleets.listRevisions(fleet.id, 10, 3)).map(({ number }) => number)).toEqual([2, 1]);
      expect((await store.fleets.findFleetById(fleet.id))?.lastRevision).toBe(3);
    });

    test("old revisions are removed, except those in use", async () => {
      await using store = await openWithAccounts(harness);
      const fleet = await create(store);
      const make = (number: number) =>
        store.fleets.createRevision(
          fleet.id,
          { hash: `${number}`, apps: someRevision(fleet, 0).revision.apps },
          (given) => someRevision(fleet, given, { hash: `${number}` }),
          audit,
        );
      for (let number = 1; number <= 4; number++) await make(number);
      await store.fleets.updateFleet(fleet.id, () => ({ stableRevision: 2 }));
      const rollout = someRollout(fleet, { revision: 4, previousRevision: 3 });
      await store.rollouts.createRollout(rollout, [], someRolloutEvent(rollout), () => ({ fields: {} }));
      for (let number = 5; number <= KEPT_REVISIONS + 6; number++) await make(number);
      const kept = (await store.fleets.listRevisions(fleet.id, 1_000)).map(({ number }) => number).toReversed();
      expect(kept.slice(0, 5)).toEqual([2, 3, 4, 7, 8]);
      expect(kept).toHaveLength(3 + KEPT_REVISIONS);
    });

    test("selectors match as the protocol says", async () => {
      await using store = await openWithAccounts(harness);
      const north = await registerTagged(store, { role: "kiosk", region: "north", beta: "" });
      const south = await registerTagged(store, { role: "kiosk", region: "south" });
      const van = await registerTagged(store, { role: "van" }, "Pump gateway");
      const bare = await registerTagged(store, {});
      const all = [north, south, van, bare].toSorted();
      expect(await matching(store, "*")).toEqual(all);
      expect(await matching(store, "role=kiosk")).toEqual([north, south].toSorted());
      expect(await matching(store, "role=kiosk,region!=south")).toEqual([north]);
      expect(await matching(store, "region!=south")).toEqual([north, van, bare].toSorted());
      expect(await matching(store, "beta")).toEqual([north]);
      expect(await matching(store, "!beta,role")).toEqual([south, van].toSorted());
      expect(await matching(store, "role in (van,kiosk),region notin (south)")).toEqual([north, van].toSorted());
      expect(await matching(store, 'type="Pump gateway"')).toEqual([van]);
      expect(await matching(store, "type!=gateway")).toEqual([van]);
      expect(await matching(store, "beta=")).toEqual([north]);
      expect(await store.fleets.countMatching(ACCOUNT, terms("role=kiosk"))).toBe(2);
      expect(await store.fleets.listMatching("acc_2", terms("*"), 10)).toEqual([]);
      const page = await store.fleets.listMatching(ACCOUNT, terms("*"), 2, all[0]);
      expect(page.map(({ assetUuid }) => assetUuid)).toEqual(all.slice(1, 3));
    });

    test("selectors match what matchesSelector matches", async () => {
      await using store = await openWithAccounts(harness);
      const word = fc.constantFrom("a", "b", "c");
      const value = fc.constantFrom("", "x", "y");
      const assets = await Promise.all(
        fc.sample(fc.dictionary(word, value), { numRuns: 20, seed: 7 }).map(async (tags, index) => {
          const type = index % 2 === 0 ? "x" : "other kind";
          return { uuid: await registerTagged(store, tags, type), type, tags: new Map(Object.entries(tags)) };
        }),
      );
      const key = fc.oneof(word, fc.constant("type"));
      const term: fc.Arbitrary<SelectorTerm> = fc.oneof(
        fc.record({
          op: fc.constantFrom("in" as const, "not_in" as const),
          key,
          values: fc.array(value, { minLength: 1 }),
        }),
        fc.record({ op: fc.constantFrom("exists" as const, "not_exists" as const), key }),
      );
      await fc.assert(
        fc.asyncProperty(fc.array(term, { maxLength: 4 }), async (selector) => {
          const expected = assets.filter((asset) => matchesSelector(selector, asset)).map(({ uuid }) => uuid);
          const found = await store.fleets.listMatching(ACCOUNT, selector, 100);
          expect(found.map(({ assetUuid }) => assetUuid)).toEqual(expected.toSorted());
          expect(await store.fleets.countMatching(ACCOUNT, selector)).toBe(expected.length);
        }),
        { numRuns: PROPERTY_RUNS },
      );
    });

    test("an app of an asset has one owner", async () => {
      await using store = await openWithAccounts(harness);
      const [one, other] = [await create(store), await create(store, { apps: ["web", "db"] })];
      const asset = await registerTagged(store, { role: "kiosk" });
      expect(await store.fleets.claimApps(one.id, asset, ["web"])).toEqual([]);
      expect(await store.fleets.claimApps(one.id, asset, ["web"])).toEqual([]);
      const conflict = [{ app: "web", fleet: one.name }];
      expect(await store.fleets.claimApps(other.id, asset, ["web", "db"])).toEqual(conflict);
      // Nothing of what it could not have as a whole.
      expect(await store.fleets.listOwners(asset)).toEqual(conflict);
      expect(await store.fleets.findOtherOwners(other.id, asset, ["web", "db"])).toEqual(conflict);
      const members = await store.fleets.listMembers(other, terms("role=kiosk"), 10);
      expect(members).toMatchObject([{ assetUuid: asset, revision: undefined, conflict: "web" }]);
      const races = await Promise.all([1, 2, 3, 4].map(async () => store.fleets.claimApps(other.id, asset, ["db"])));
      expect(races.flat()).toEqual([]);
    });

    test("an asset that leaves belongs to nobody, and is known to run nothing of it", async () => {
      await using store = await openWithAccounts(harness);
      const fleet = await create(store);
      const [stays, leaves] = [
        await registerTagged(store, { role: "kiosk" }),
        await registerTagged(store, { role: "kiosk" }),
      ];
      for (const asset of [stays, leaves]) {
        await store.fleets.claimApps(fleet.id, asset, ["web"]);
        await store.fleets.recordMemberRevision(fleet.id, asset, 4);
      }
      await store.assetSettings.changeTags(leaves, new Map([["role", "van"]]), false, audit);
      expect(await store.fleets.releaseLeavers(fleet, terms(fleet.selector), 10)).toEqual([leaves]);
      expect(await store.fleets.releaseLeavers(fleet, terms(fleet.selector), 10)).toEqual([]);
      expect(await store.fleets.listOwners(leaves)).toEqual([]);
      expect(await store.fleets.listMembers(fleet, terms("role in (kiosk,van)"), 10)).toMatchObject(
        [
          { assetUuid: stays, revision: 4 },
          { assetUuid: leaves, revision: undefined },
        ].toSorted((a, b) => (a.assetUuid < b.assetUuid ? -1 : 1)),
      );
    });

    test("an app that is taken off the list belongs to nobody, on each asset", async () => {
      await using store = await openWithAccounts(harness);
      const [fleet, other] = [await create(store, { apps: ["web", "db"] }), await create(store, { apps: ["cache"] })];
      const assets = [await registerTagged(store, { role: "kiosk" }), await registerTagged(store, { role: "kiosk" })];
      for (const asset of assets) {
        await store.fleets.claimApps(fleet.id, asset, ["web", "db"]);
        await store.fleets.claimApps(other.id, asset, ["cache"]);
      }
      expect(await store.fleets.releaseDroppedApps(fleet.id, 10)).toEqual([]);
      await store.fleets.updateFleet(fleet.id, () => ({ apps: ["web"] }), audit);
      const released = [
        ...(await store.fleets.releaseDroppedApps(fleet.id, 1)),
        ...(await store.fleets.releaseDroppedApps(fleet.id, 1)),
      ];
      expect(released.toSorted()).toEqual(assets.toSorted());
      expect(await store.fleets.releaseDroppedApps(fleet.id, 10)).toEqual([]);
      for (const asset of assets) {
        // By a rollout that has read the list before it was changed.
        expect(await store.fleets.claimApps(fleet.id, asset, ["web", "db"])).toEqual([]);
        expect(await store.fleets.listOwners(asset)).toEqual([
          { app: "cache", fleet: other.name },
          { app: "web", fleet: fleet.name },
        ]);
      }
    });

    test("go with everything that belongs to them", async () => {
      await using store = await openWithAccounts(harness);
      const fleet = await create(store);
      const asset = await registerTagged(store, { role: "kiosk" });
      await store.fleets.claimApps(fleet.id, asset, ["web"]);
      const rollout = someRollout(fleet);
      await store.rollouts.createRollout(rollout, [], someRolloutEvent(rollout), () => ({ fields: {} }));
      expect(await store.fleets.removeFleet(fleet.id, audit)).toBe(true);
      expect(await store.fleets.removeFleet(fleet.id, audit)).toBe(false);
      expect(await store.fleets.listOwners(asset)).toEqual([]);
      expect(await store.rollouts.findRollout(rollout.id)).toBeUndefined();
      expect(await store.fleets.findFleet(ACCOUNT, fleet.name)).toBeUndefined();
    });
  });
}
