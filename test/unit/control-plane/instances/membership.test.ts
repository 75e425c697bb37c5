import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type MembershipOptions, Membership } from "../../../../src/control-plane/instances/membership.ts";
import {
  DeadInstanceSweeper,
  UnresponsiveInstances,
} from "../../../../src/control-plane/instances/dead-instance-sweeper.ts";
import type { SessionFence } from "../../../../src/control-plane/store/sessions.ts";
import { openStore } from "../../../../src/control-plane/store/sqlite/open-store.ts";
import type { InstanceStore, ServiceState } from "../../../../src/control-plane/store/instances.ts";
import type { Store } from "../../../../src/control-plane/store/store.ts";
import { createAccount, createAsset } from "../../../support/control-plane.ts";
import { delayedStore } from "../../../support/control-plane/delayed-store.ts";
import { someAudit } from "../../../support/control-plane/people.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { captureLog } from "../../../support/link/log-capture.ts";

let clock: FakeClock;
let store: Store;
let accountId: string;
let uuids: string[];

beforeEach(async () => {
  clock = new FakeClock();
  Object.assign(database, { identity: "1", knownIdentity: undefined });
  store = openStore(":memory:");
  const account = await createAccount(store, clock);
  ({ accountId } = account);
  uuids = [];
  for (let count = 0; count < 3; count++) uuids.push((await createAsset(store, clock, account)).uuid);
});
afterEach(() => store[Symbol.asyncDispose]());

/** As a store that can tell that a copy of the database has taken its place. */
const database = { identity: "1", knownIdentity: undefined as string | undefined };
async function findState(target: InstanceStore): Promise<ServiceState> {
  return { ...(await target.findState()), ...database };
}

/** An instance without a server. Its store can be cut off, or its process be paused. */
class Instance {
  readonly id: string;
  readonly membership: Membership;
  readonly sweeper: DeadInstanceSweeper;
  readonly unresponsive = new UnresponsiveInstances();
  readonly calls: string[] = [];
  readonly lost: SessionFence[] = [];
  readonly lines: Record<string, unknown>[];
  isCut = false;
  isPaused = false;

  constructor(id: string, isShared = true) {
    this.id = id;
    const { logger, lines } = captureLog();
    this.lines = lines;
    const own = delayedStore(store, async () => {
      if (this.isPaused) await new Promise<never>(() => undefined);
      if (this.isCut) throw new Error("the store cannot be reached");
    });
    this.sweeper = new DeadInstanceSweeper({
      store: own,
      instanceId: id,
      clock,
      logger,
      unresponsive: this.unresponsive,
      listBusyAssets: async () => new Set(uuids.slice(0, 2)),
      noteLost: async (sessions) => void this.lost.push(...sessions),
    });
    const instances: InstanceStore = new Proxy(own.instances, {
      get: (target, name): unknown => (name === "findState" ? () => findState(target) : Reflect.get(target, name)),
    });
    const options: MembershipOptions = {
      store: { isShared, instances, idempotency: own.idempotency, leases: own.leases, sessions: own.sessions },
      instanceId: id,
      clock,
      logger,
      recover: async (isOtherDatabase, onProgress) => {
        database.knownIdentity = database.identity;
        this.calls.push(isOtherDatabase ? "recover other" : "recover");
        await onProgress();
      },
      onRejoined: async () => void this.calls.push("rejoined"),
      onAbandoned: () => void this.calls.push("abandoned"),
      onRenewed: () => void this.sweeper.run(),
    };
    this.membership = new Membership(options);
  }

  get messages(): unknown[] {
    return this.lines.map(({ msg }) => msg);
  }

  async openSessions(): Promise<void> {
    for (const assetUuid of uuids) {
      await store.sessions.open({ assetUuid, sessionId: "s", instanceId: this.id, protocol: 3, at: 1 });
    }
  }
}

const held = async (id: string): Promise<number> => (await store.sessions.listHeld(id)).length;
const ids = async (): Promise<string[]> => (await store.instances.list()).map(({ id }) => id);

test("the first instance resumes what was left, and those that join it do not", async () => {
  const [first, second] = [new Instance("ins_1"), new Instance("ins_2")];
  await new Instance("ins_0").openSessions();
  await first.membership.join();
  expect(first.calls).toEqual(["recover"]);
  expect(await held("ins_0")).toBe(0);
  await first.openSessions();
  await second.membership.join();
  expect(second.calls).toEqual([]);
  expect(await held("ins_1")).toBe(3);
});

test.each([
  [false, "done"],
  [true, "in_progress"],
])("what the process before was carrying out has ended, unless others may be at work: %s", async (isShared, kind) => {
  const keyHash = new TextEncoder().encode(`key ${kind}`);
  const request = { accountId, keyHash, principalId: "key_1", operation: "POST /v1/fleets", fingerprint: keyHash };
  const applied = { ...someAudit("asset.tagged"), accountId, idempotencyKeyHash: keyHash };
  await store.idempotency.claim(request, clock.now());
  await store.assetSettings.changeTags(uuids[0]!, new Map([["role", kind]]), true, applied);
  await new Instance("ins_1", isShared).membership.join();
  expect((await store.idempotency.claim(request, clock.now())).kind).toBe(kind);
});

test("of instances that start together, one resumes", async () => {
  const instances = Array.from({ length: 5 }, (_, index) => new Instance(`ins_${index}`));
  const joining = Promise.all(instances.map(({ membership }) => membership.join()));
  await clock.advance(5_000);
  await joining;
  expect(instances.flatMap(({ calls }) => calls)).toEqual(["recover"]);
  expect(await ids()).toHaveLength(5);
});

test("one that dies while it resumes is followed by one that does it again", async () => {
  const [first, second] = [new Instance("ins_1"), new Instance("ins_2")];
  const joining = first.membership.join();
  first.isPaused = true;
  void joining;
  const following = second.membership.join();
  await clock.advance(31_000);
  await following;
  expect(second.calls).toEqual(["recover"]);
});

test("an instance that renews its lease keeps it; a dead one is noticed within the time of a lease, and its sessions end later", async () => {
  const [first, second] = [new Instance("ins_1"), new Instance("ins_2")];
  await first.membership.join();
  await second.membership.join();
  await first.openSessions();
  await clock.advance(600_000);
  expect([await held("ins_1"), second.lost, second.unresponsive.has("ins_1")]).toEqual([3, [], false]);
  first.isPaused = true;
  await clock.advance(3_000);
  expect(second.unresponsive.has("ins_1")).toBe(false);
  await clock.advance(7_000);
  expect(second.unresponsive.has("ins_1")).toBe(true);
  await clock.advance(12_000);
  expect([await held("ins_1"), second.lost]).toEqual([3, []]);
  await clock.advance(6_000);
  expect(await held("ins_1")).toBe(0);
  expect(second.lost.map(({ assetUuid }) => assetUuid).toSorted()).toEqual(uuids.slice(0, 2).toSorted());
  expect(second.lines.map(({ msg, devices }) => [msg, devices])).toContainEqual([
    "an instance is gone; its devices count as not connected",
    3,
  ]);
});

test("what a paused instance did after its end is ended, too", async () => {
  const [first, second] = [new Instance("ins_1"), new Instance("ins_2")];
  await first.membership.join();
  await second.membership.join();
  first.isPaused = true;
  await clock.advance(40_000);
  await first.openSessions();
  await clock.advance(6_000);
  expect(await held("ins_1")).toBe(0);
  await clock.advance(3_700_000);
  expect(await ids()).toEqual(["ins_2"]);
});

test("an instance that could not reach the store joins again, and sends its devices away if that takes too long", async () => {
  const [first, second] = [new Instance("ins_1"), new Instance("ins_2")];
  await first.membership.join();
  await second.membership.join();
  first.isCut = true;
  await clock.advance(8_000);
  first.isCut = false;
  await clock.advance(6_000);
  // Shorter than its lease: nobody has noticed.
  expect(first.calls).toEqual(["recover"]);
  expect(first.messages).toEqual(["this instance serves"]);
  first.isCut = true;
  await clock.advance(20_000);
  expect(first.calls).toEqual(["recover"]);
  await clock.advance(25_000);
  expect(first.calls).toEqual(["recover", "abandoned"]);
  first.isCut = false;
  await clock.advance(6_000);
  expect(first.calls).toEqual(["recover", "abandoned", "rejoined"]);
  expect(first.messages).toEqual([
    "this instance serves",
    "this instance cannot renew its lease, which has lapsed",
    "this instance has had no lease for too long; its devices are sent to others",
    "the lease of this instance has lapsed, and others may have taken over; it joins again",
    "this instance serves",
  ]);
  expect(second.calls).toEqual([]);
});

test("when the store was away for all, one resumes, and all take up what they have", async () => {
  const instances = [new Instance("ins_1"), new Instance("ins_2")];
  for (const { membership } of instances) await membership.join();
  for (const instance of instances) instance.isCut = true;
  await clock.advance(20_000);
  for (const instance of instances) instance.isCut = false;
  await clock.advance(6_000);
  const calls = instances.flatMap((instance) => instance.calls);
  expect(calls.toSorted()).toEqual(["recover", "recover", "rejoined", "rejoined"]);
});

test("an instance that leaves others keeps its devices for the time of a lease, and the last one ends all sessions", async () => {
  const [first, second] = [new Instance("ins_1"), new Instance("ins_2")];
  await first.membership.join();
  await second.membership.join();
  await first.openSessions();
  await first.membership.markStopping();
  await first.membership.leave();
  expect(await held("ins_1")).toBe(3);
  await store.sessions.open({ assetUuid: uuids[0]!, sessionId: "t", instanceId: "ins_2", protocol: 3, at: 2 });
  await clock.advance(16_000);
  expect([await held("ins_1"), await held("ins_2")]).toEqual([0, 1]);
  await second.membership.leave();
  expect(await held("ins_2")).toBe(0);
  const third = new Instance("ins_3");
  await third.membership.join();
  expect(third.calls).toEqual(["recover"]);
});

const lastSeen = async (): Promise<(number | undefined)[]> =>
  Promise.all(uuids.map(async (uuid) => (await store.sessions.find(uuid))?.lastSeenAt));
const seconds = (ms: number): number => Math.floor(ms / 1000);

test("devices of a dead instance were last seen when it renewed its lease, or connected later", async () => {
  const [first, second] = [new Instance("ins_1"), new Instance("ins_2")];
  await first.membership.join();
  await second.membership.join();
  await first.openSessions();
  await clock.advance(3 * 86_400_000);
  first.isPaused = true;
  const diedAt = clock.now();
  const [late = ""] = uuids;
  const at = seconds(diedAt) + 5;
  await store.sessions.open({ assetUuid: late, sessionId: "t", instanceId: "ins_1", protocol: 3, at });
  await clock.advance(30_000);
  expect(await held("ins_1")).toBe(0);
  const [lateSeen, ...seen] = await lastSeen();
  expect(lateSeen).toBe(at);
  for (const time of seen) {
    expect(time).toBeLessThanOrEqual(seconds(diedAt));
    expect(time).toBeGreaterThanOrEqual(seconds(diedAt) - 4);
  }
});

test.each([true, false])(
  "after the end of the only process (shared store: %s) devices were last seen then",
  async (isShared) => {
    const first = new Instance("ins_1", isShared);
    await first.membership.join();
    await first.openSessions();
    await clock.advance(3 * 86_400_000);
    first.isPaused = true;
    const diedAt = clock.now();
    await clock.advance(3_600_000);
    await new Instance("ins_2", isShared).membership.join();
    for (const time of await lastSeen()) {
      expect(time).toBeLessThanOrEqual(seconds(diedAt));
      expect(time).toBeGreaterThanOrEqual(seconds(diedAt) - 61);
    }
  },
);

test("devices that are still there when the last instance leaves were last seen then", async () => {
  const instance = new Instance("ins_1");
  await instance.membership.join();
  await instance.openSessions();
  await clock.advance(86_400_000);
  await instance.membership.leave();
  const now = seconds(clock.now());
  expect(await lastSeen()).toEqual([now, now, now]);
});

test("on a store of its own an instance takes the place of any other, and is not disturbed by its store while it runs", async () => {
  const other = new Instance("ins_1");
  await other.membership.join();
  other.isPaused = true;
  const own = new Instance("ins_2", false);
  await own.membership.join();
  expect(own.calls).toEqual(["recover"]);
  expect(await ids()).toEqual(["ins_2"]);
  await own.openSessions();
  own.isCut = true;
  await clock.advance(600_000);
  expect(own.calls).toEqual(["recover"]);
  expect(own.lines.filter(({ level }) => level !== "debug")).toEqual([]);
  expect(new Set(own.messages)).toEqual(new Set(["cannot record that this instance runs"]));
  own.isCut = false;
  await own.membership.leave();
  expect([await held("ins_2"), await ids()]).toEqual([0, []]);
});

test("when a copy of the database takes its place, one instance resumes what it may lack, and all join it", async () => {
  const instances = [new Instance("ins_1"), new Instance("ins_2"), new Instance("ins_3")];
  for (const { membership } of instances) await membership.join();
  await clock.advance(10_000);
  database.identity = "2";
  await clock.advance(10_000);
  const calls = instances.flatMap((instance) => instance.calls).toSorted();
  expect(calls).toEqual(["recover", "recover other", "rejoined", "rejoined", "rejoined"]);
  expect(instances[2]?.messages).toContain(
    "another database has taken the place of the one that this instance joined; it joins again",
  );
});

test("whatever happens to instances, sessions are those of instances that run, and the service is resumed when none did", async () => {
  const step = fc.record({
    what: fc.constantFrom("start", "start", "kill", "cut", "restore", "stop", "connect", "connect", "pass"),
    which: fc.nat(20),
    ms: fc.integer({ min: 0, max: 15_000 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      clock = new FakeClock();
      await using own = openStore(":memory:");
      store = own;
      const account = await createAccount(store, clock);
      uuids = [(await createAsset(store, clock, account)).uuid, (await createAsset(store, clock, account)).uuid];
      const running: Instance[] = [];
      let count = 0;
      const start = async (): Promise<void> => {
        const instance = new Instance(`ins_${++count}`);
        const joining = instance.membership.join();
        await clock.advance(60_000);
        await joining;
        running.push(instance);
      };
      await start();
      for (const { what, which, ms } of steps) {
        const instance = running[which % Math.max(1, running.length)];
        if (what === "start" && running.length < 4) await start();
        if (what === "connect" && instance && !instance.isCut) await instance.openSessions();
        if (what === "cut" && instance) instance.isCut = true;
        if (what === "restore" && instance) instance.isCut = false;
        if (what === "kill" && instance) {
          instance.isPaused = true;
          running.splice(running.indexOf(instance), 1);
        }
        if (what === "stop" && instance && !instance.isCut) {
          await instance.membership.leave();
          running.splice(running.indexOf(instance), 1);
        }
        await clock.advance(ms);
      }
      for (const instance of running) instance.isCut = false;
      if (running.length === 0) await start();
      await clock.advance(60_000);
      const alive = new Set(running.map(({ id }) => id));
      for (const uuid of uuids) {
        const holder = (await store.sessions.find(uuid))?.instanceId;
        expect(holder === undefined || alive.has(holder)).toBe(true);
      }
      const leases = (await store.instances.list()).filter(({ leaseUntilMs }) => leaseUntilMs > clock.now());
      expect(new Set(leases.map(({ id }) => id))).toEqual(alive);
    }),
    { numRuns: 60 },
  );
});
