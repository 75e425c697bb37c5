import { expect, test } from "vitest";
import type { Judgement } from "../../../src/control-plane/core/fleets/judge-member.ts";
import { NO_REPAIRS } from "../../../src/control-plane/core/fleets/upkeep.ts";
import type { Fleet } from "../../../src/control-plane/core/fleets/fleet.ts";
import type { MemberChange, MemberRecord } from "../../../src/control-plane/store/members.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { someApp } from "../../support/control-plane/device-samples.ts";
import { SOMEBODY, someFleet, someRollout, someRolloutEvent, someTarget } from "../../support/control-plane/fleets.ts";
import { someAudit } from "../../support/control-plane/people.ts";
import {
  ACCOUNT,
  describeDomain,
  openWithAccounts,
  register,
  SOME_TIME,
  someAsset,
  type StoreHarness,
} from "./harness.ts";

const audit = someAudit("fleet.created");
const NONE = new Map<string, number>();

async function prepare(store: Store) {
  const fleet = someFleet();
  await store.fleets.createFleet(fleet, audit);
  const { uuid } = await register(store, someAsset());
  return { fleet, uuid };
}

const record = (fields: Partial<Judgement> = {}, more: Partial<MemberRecord> = {}): MemberRecord => ({
  judgement: {
    state: "current",
    sinceMs: 5_000,
    waitsFor: undefined,
    untilMs: undefined,
    message: undefined,
    differences: [],
    revision: undefined,
    ...fields,
  },
  repairs: NO_REPAIRS,
  dueMs: undefined,
  ...more,
});

const changeOf = (
  { id, name }: Fleet,
  assetUuid: string,
  before: MemberRecord | undefined,
  after: MemberRecord | undefined,
): MemberChange => ({ fleetId: id, fleet: name, assetUuid, before, after });

const read = async (store: Store, uuid: string) => {
  const [asset] = await store.members.readAssets(SOME_TIME, ACCOUNT, [uuid]);
  if (!asset) throw new Error("the asset was not read");
  return asset;
};

const told = async (store: Store) =>
  (await store.accountEvents.read(ACCOUNT, 0, 100)).events
    .map(({ event }) => event)
    .filter(({ type }) => type === "member.changed");

/** Contract of stores for what is known of the members of fleets. */
export function membersContract(harness: StoreHarness): void {
  describeDomain("members", harness, () => {
    test("are stored as they were judged, and read with the asset", async () => {
      await using store = await openWithAccounts(harness);
      const { fleet, uuid } = await prepare(store);
      const difference = { app: "web", kind: "changed", what: "web was changed", by: "local", sinceMs: 4_000 } as const;
      const judged = record(
        { state: "drifted", message: "web was changed.", differences: [difference], revision: 3 },
        { repairs: { count: 2, lastAtMs: 7_000 }, dueMs: 9_000 },
      );
      expect(await store.members.changeMembers(ACCOUNT, [changeOf(fleet, uuid, undefined, judged)], NONE, 1)).toBe(1);
      expect((await read(store, uuid)).members.get(fleet.id)).toEqual({ ...judged, revision: 3 });
      expect(await store.fleets.listMembers(fleet, [], 10)).toMatchObject([{ assetUuid: uuid, ...judged }]);
      expect(await store.fleets.listMembers(fleet, [], 10, undefined, ["current"])).toEqual([]);
      expect(await store.fleets.listMembers(fleet, [], 10, undefined, ["missing", "drifted"])).toHaveLength(1);
      expect(await store.members.countStates(fleet.id)).toEqual(new Map([["drifted", 1]]));
      expect((await store.members.countAllStates()).get("drifted")).toBe(1);
      expect(await store.members.nextDue(ACCOUNT)).toBe(9_000);
      expect(await store.members.listDue(ACCOUNT, 8_999, 10)).toEqual([]);
      expect(await store.members.listDue(ACCOUNT, 9_000, 10)).toEqual([uuid]);
      expect(await store.members.listAccounts()).toEqual([ACCOUNT]);
    });

    test("change only from the state that was read, and keep the revision that a target has stored meanwhile", async () => {
      await using store = await openWithAccounts(harness);
      const { fleet, uuid } = await prepare(store);
      await store.fleets.recordMemberRevision(fleet.id, uuid, 4);
      const before = (await read(store, uuid)).members.get(fleet.id);
      expect(before).toMatchObject({ judgement: undefined, revision: 4 });
      await store.fleets.recordMemberRevision(fleet.id, uuid, 5);
      const first = changeOf(fleet, uuid, { ...record(), judgement: undefined }, record({ state: "updating" }));
      expect(await store.members.changeMembers(ACCOUNT, [first], NONE, 1)).toBe(1);
      expect((await read(store, uuid)).members.get(fleet.id)).toMatchObject({ revision: 5 });
      expect(await store.members.changeMembers(ACCOUNT, [first], NONE, 1)).toBe(0);
      await store.fleets.recordMemberRevision(fleet.id, uuid, undefined);
      expect((await read(store, uuid)).members.get(fleet.id)).toMatchObject({
        revision: undefined,
        judgement: { state: "updating" },
      });
    });

    test("are told of when they drift and when they are right again, with the attention of their asset", async () => {
      await using store = await openWithAccounts(harness);
      const { fleet, uuid } = await prepare(store);
      const [current, drifted] = [record(), record({ state: "drifted", sinceMs: 6_000, message: "web was changed." })];
      const held = record({ state: "held", sinceMs: 7_000 });
      const bits = new Map([[uuid, 4096]]);
      await store.members.changeMembers(ACCOUNT, [changeOf(fleet, uuid, undefined, current)], NONE, 1);
      expect(await told(store)).toEqual([]);
      await store.members.changeMembers(ACCOUNT, [changeOf(fleet, uuid, current, drifted)], bits, 1);
      expect((await read(store, uuid)).attentionBits).toBe(4096);
      await store.members.changeMembers(ACCOUNT, [changeOf(fleet, uuid, drifted, held)], new Map([[uuid, 0]]), 1);
      const about = { type: "member.changed", fleet: fleet.name, asset_id: uuid };
      expect(await told(store)).toEqual([
        { ...about, state: "drifted", previous: "current", message: "web was changed.", attention: ["drifted"] },
        { ...about, state: "held", previous: "drifted", attention: [] },
      ]);
      await store.members.changeMembers(ACCOUNT, [changeOf(fleet, uuid, held, undefined)], NONE, 1);
      expect((await read(store, uuid)).members.size).toBe(0);
    });

    test("are judged by all that is stored of their asset", async () => {
      await using store = await openWithAccounts(harness);
      const { fleet, uuid } = await prepare(store);
      const other = someFleet();
      await store.fleets.createFleet(other, audit);
      await store.assetSettings.changeTags(uuid, new Map([["role", "kiosk"]]), false, someAudit("asset.tagged"));
      const variable = { isSecret: false, keyId: "key", sealed: new Uint8Array([1]) };
      await store.assetSettings.changeVariables(uuid, new Map([["SITE", variable]]), false, audit);
      const hold = { untilMs: 9_000, reason: "test", setAtMs: 1, setBy: SOMEBODY };
      await store.assetSettings.changeHold(uuid, hold, audit);
      await store.fleets.claimApps(other.id, uuid, ["web"]);
      const report = { hash: "a", apps: [someApp("web")], device: undefined };
      await store.devices.replaceReport(uuid, undefined, { value: report, at: 7 });
      const rollout = someRollout(fleet, { revision: 3 });
      const target = { ...someTarget(rollout, uuid), state: "waiting", waitsFor: "window", dueMs: 8_000 } as const;
      await store.rollouts.createRollout(rollout, [target], someRolloutEvent(rollout), () => ({ fields: {} }));
      const asset = await read(store, uuid);
      expect(asset).toMatchObject({
        tags: new Map([["role", "kiosk"]]),
        variableNames: new Set(["SITE"]),
        heldUntilMs: 9_000,
        holdReason: hold.reason,
        isConnected: false,
        owners: [{ app: "web", fleetId: other.id, fleet: other.name }],
        targets: [
          {
            fleetId: fleet.id,
            kind: "rollout",
            rolloutState: "running",
            revision: 3,
            state: "waiting",
            waitsFor: "window",
          },
        ],
      });
      expect(asset.readReport()).toMatchObject({ atMs: 7_000, apps: [{ name: "web" }] });
      const listed = await store.members.listAssets(SOME_TIME, ACCOUNT, 10);
      expect(listed.map((each) => each.assetUuid)).toEqual([uuid]);
      expect(await store.members.listAssets(SOME_TIME, ACCOUNT, 10, uuid)).toEqual([]);
      expect(await store.members.readAssets(SOME_TIME, "acc_2", [uuid])).toEqual([]);
    });

    test("of a fleet or an asset that is gone are not stored", async () => {
      await using store = await openWithAccounts(harness);
      const { fleet, uuid } = await prepare(store);
      await store.fleets.removeFleet(fleet.id, audit);
      expect(await store.members.changeMembers(ACCOUNT, [changeOf(fleet, uuid, undefined, record())], NONE, 1)).toBe(0);
      expect(await store.members.listAccounts()).toEqual([]);
    });
  });
}
