import { expect, test } from "vitest";
import type { Store } from "../../../src/control-plane/store/store.ts";
import type { NewInstance } from "../../../src/control-plane/store/instances.ts";
import {
  ACCOUNT,
  describeDomain,
  openWithAccounts,
  register,
  SOME_TIME,
  someAsset,
  type StoreHarness,
} from "./harness.ts";

const instance = (id: string, fields: Partial<NewInstance> = {}): NewInstance => ({
  id,
  version: "1.2.3",
  startedAtMs: 1_000,
  leaseUntilMs: 11_000,
  nowMs: 1_000,
  ...fields,
});

/** Opens a session for each of `count` new devices at the instance, and returns the devices. */
async function openSessions(store: Store, count: number) {
  const uuids: string[] = [];
  for (let index = 0; index < count; index++) {
    const { uuid } = await register(store, someAsset());
    uuids.push(uuid);
    await store.sessions.open({ assetUuid: uuid, sessionId: "s", instanceId: "ins_1", protocol: 3, at: 5 });
  }
  return uuids;
}

/** Contract of stores for the instances of the service. */
export function instancesContract(harness: StoreHarness): void {
  describeDomain("instances", harness, () => {
    test("join, renew their lease, and leave", async () => {
      await using store = await harness.open();
      const { instances } = store;
      expect(await instances.list()).toEqual([]);
      await instances.join(instance("ins_2"));
      await instances.join(instance("ins_1", { version: "1.2.4", startedAtMs: 2_000, leaseUntilMs: 12_000 }));
      expect(await instances.list()).toEqual([
        { id: "ins_1", version: "1.2.4", startedAtMs: 2_000, leaseUntilMs: 12_000, isStopping: false },
        { id: "ins_2", version: "1.2.3", startedAtMs: 1_000, leaseUntilMs: 11_000, isStopping: false },
      ]);
      expect(await instances.renew("ins_2", 4_000, 14_000)).toBe(true);
      await instances.markStopping("ins_1");
      const leases = (await instances.list()).map(({ id, leaseUntilMs, isStopping }) => [id, leaseUntilMs, isStopping]);
      expect(leases).toEqual([
        ["ins_1", 12_000, true],
        ["ins_2", 14_000, false],
      ]);
      await instances.leave("ins_1", 5_000);
      await instances.leave("ins_1", 5_000);
      expect((await instances.list()).map(({ id }) => id)).toEqual(["ins_2"]);
    });

    test("a lease that has lapsed is not renewed, and its instance can join again", async () => {
      await using store = await harness.open();
      const { instances } = store;
      await instances.join(instance("ins_1"));
      expect(await instances.renew("ins_1", 10_999, 20_000)).toBe(true);
      expect(await instances.renew("ins_1", 20_000, 30_000)).toBe(false);
      expect(await instances.renew("ins_9", 20_000, 30_000)).toBe(false);
      await instances.markStopping("ins_1");
      await instances.join(instance("ins_1", { nowMs: 21_000, leaseUntilMs: 31_000 }));
      expect(await instances.list()).toMatchObject([{ id: "ins_1", leaseUntilMs: 31_000, isStopping: false }]);
      expect(await instances.renew("ins_1", 25_000, 35_000)).toBe(true);
    });

    test("are removed by others only after their lease has lapsed", async () => {
      await using store = await harness.open();
      const { instances } = store;
      await instances.join(instance("ins_1"));
      expect(await instances.removeLapsed("ins_1", 10_999)).toBe(false);
      expect(await instances.removeLapsed("ins_1", 11_000)).toBe(true);
      expect(await instances.removeLapsed("ins_1", 11_000)).toBe(true);
      expect(await instances.list()).toEqual([]);
    });

    test("leave on record when one of them was last there, which does not go back", async () => {
      await using store = await harness.open();
      const { instances } = store;
      const aliveAt = async () => (await instances.findState()).aliveAtMs;
      expect(await aliveAt()).toBeUndefined();
      await instances.join(instance("ins_1"));
      expect(await aliveAt()).toBe(1_000);
      await instances.renew("ins_1", 4_000, 14_000);
      expect(await aliveAt()).toBe(4_000);
      await instances.join(instance("ins_2", { nowMs: 3_000 }));
      expect(await aliveAt()).toBe(4_000);
      expect(await instances.renew("ins_1", 50_000, 60_000)).toBe(false);
      expect(await aliveAt()).toBe(4_000);
      await instances.leave("ins_1", 8_000);
      expect(await aliveAt()).toBe(8_000);
    });

    test("the identity of the database is known once an instance has joined", async () => {
      await using store = await harness.open();
      const before = await store.instances.findState();
      expect(before.knownIdentity).toBeUndefined();
      await store.instances.join(instance("ins_1"));
      const after = await store.instances.findState();
      expect(after.identity).toBe(before.identity);
      expect(after.knownIdentity).toBe(before.identity);
    });

    test("share the time of day of the database, and a shift that is changed once for each version", async () => {
      await using store = await harness.open();
      const { instances } = store;
      const first = await instances.readTime();
      expect(first).toMatchObject({ shiftMs: 0, version: 0 });
      expect(Number.isSafeInteger(first.nowMs)).toBe(true);
      const changed = await Promise.all([instances.changeShift(0, -5_000), instances.changeShift(0, 7_000)]);
      expect(changed.filter(Boolean)).toHaveLength(1);
      const second = await instances.readTime();
      expect(second).toMatchObject({ shiftMs: changed[0] ? -5_000 : 7_000, version: 1 });
      expect(second.nowMs).toBeGreaterThanOrEqual(first.nowMs);
    });
  });

  describeDomain("sessions of a dead instance", harness, () => {
    test("are listed and ended in bounded pieces, except those that continue elsewhere", async () => {
      await using store = await openWithAccounts(harness);
      const { sessions } = store;
      const uuids = await openSessions(store, 3);
      const piece = await sessions.listHeld("ins_1", 2);
      expect(piece).toHaveLength(2);
      const moved = piece[0]!.assetUuid;
      await sessions.open({ assetUuid: moved, sessionId: "t", instanceId: "ins_2", protocol: 3, at: 6 });
      await sessions.end(piece);
      expect(await sessions.find(moved)).toMatchObject({ epoch: 2, instanceId: "ins_2", lastSeenAt: 6 });
      expect(await sessions.find(piece[1]!.assetUuid)).toMatchObject({
        epoch: 1,
        instanceId: undefined,
        lastSeenAt: 5,
      });
      const left = uuids.find((uuid) => piece.every(({ assetUuid }) => assetUuid !== uuid));
      expect(await sessions.listHeld("ins_1", 2)).toEqual([{ assetUuid: left, epoch: 1 }]);
      await sessions.end([]);
    });

    test("were last seen when they were known to be open, or were opened later, and their accounts are told so", async () => {
      await using store = await openWithAccounts(harness);
      const { sessions } = store;
      const [one = "", two = "", three = "", four = ""] = await openSessions(store, 4);
      await sessions.open({ assetUuid: two, sessionId: "t", instanceId: "ins_1", protocol: 3, at: 900 });
      await sessions.open({ assetUuid: four, sessionId: "t", instanceId: "ins_2", protocol: 3, at: 6 });
      const { lastId } = await store.accountEvents.read(ACCOUNT, Number.MAX_SAFE_INTEGER, 1);
      await sessions.end([{ assetUuid: one, epoch: 1 }], 700);
      await sessions.closeAll("ins_1", 800);
      await sessions.closeAll(undefined, 850);
      const seen = new Map([
        [one, 700],
        [two, 900],
        [three, 800],
        [four, 850],
      ]);
      const told = (await store.accountEvents.read(ACCOUNT, lastId, 10)).events.map(({ event }) => event);
      expect(told).toHaveLength(4);
      for (const [uuid, at] of seen) {
        expect((await sessions.find(uuid))?.lastSeenAt).toBe(at);
        const found = await store.assets.findAssetWithState(ACCOUNT, uuid, SOME_TIME);
        expect(found?.state.lastSeenAt).toBe(at);
        expect(told).toContainEqual({ type: "device.disconnected", asset_id: uuid, last_seen: at });
      }
    });

    test("are taken up again by it with their next epoch, except those that continue elsewhere", async () => {
      await using store = await openWithAccounts(harness);
      const { sessions, assets } = store;
      const [open = "", ended = "", moved = "", removed = ""] = await openSessions(store, 4);
      await sessions.end([{ assetUuid: ended, epoch: 1 }]);
      await sessions.open({ assetUuid: moved, sessionId: "t", instanceId: "ins_2", protocol: 3, at: 6 });
      await assets.removeAsset(removed);
      const before = [open, ended, moved, removed].map((assetUuid) => ({ assetUuid, epoch: 1 }));
      const reopened = await sessions.reopen("ins_1", before);
      expect(new Map(reopened.map(({ assetUuid, epoch }) => [assetUuid, epoch]))).toEqual(
        new Map([
          [open, 2],
          [ended, 2],
        ]),
      );
      expect(await sessions.find(ended)).toMatchObject({ epoch: 2, instanceId: "ins_1", protocol: 3 });
      expect(await sessions.find(moved)).toMatchObject({ epoch: 2, instanceId: "ins_2" });
      expect(await sessions.find(removed)).toBeUndefined();
      // What was meant for the epoch before comes too late.
      await sessions.end(before);
      expect(await sessions.listHeld("ins_1")).toHaveLength(2);
      expect(await sessions.reopen("ins_1", [])).toEqual([]);
    });
  });
}
