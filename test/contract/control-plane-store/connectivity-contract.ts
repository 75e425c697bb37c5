import { expect, test } from "vitest";
import type { ConnectionInterval } from "../../../src/control-plane/core/connectivity.ts";
import { MAX_INTERVALS_PER_DAY, SHORT_INTERRUPTION_S } from "../../../src/control-plane/store/connectivity.ts";
import type { SessionFence } from "../../../src/control-plane/store/sessions.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import type { DisconnectReason } from "../../../src/protocol/assets/connectivity.ts";
import { describeDomain, openWithAccounts, register, someAsset, type StoreHarness } from "./harness.ts";

const DAY = 86_400;
const HOUR = 3_600;
/** The start of a day. */
const T0 = 20_000 * DAY;
const ALL = { from: 0, to: 2 ** 40 };

let count = 0;

async function open(store: Store, assetUuid: string, at: number, instanceId = "ins_1"): Promise<SessionFence> {
  const opened = await store.sessions.open({ assetUuid, sessionId: `s${++count}`, instanceId, protocol: 1, at });
  if (!opened) throw new Error("the asset is not there");
  return { assetUuid, epoch: opened.epoch };
}

/** Connects a device for some time. */
async function connect(store: Store, assetUuid: string, from: number, to: number, reason: DisconnectReason = "lost") {
  await store.sessions.close(await open(store, assetUuid, from), to, reason);
}

const list = (store: Store, assetUuid: string, range = ALL, limit = 1_000) =>
  store.connectivity.list(assetUuid, range, limit);

const interval = (
  startedAt: number,
  endedAt?: number,
  fields: Partial<ConnectionInterval> = {},
): ConnectionInterval => ({
  startedAt,
  endedAt,
  endReason: endedAt === undefined ? undefined : "lost",
  takeovers: 0,
  interruptions: 0,
  interruptedS: 0,
  longestInterruptionS: 0,
  ...fields,
});

/** Contract of stores for when devices were connected. */
export function connectivityContract(harness: StoreHarness): void {
  describeDomain("connectivity", harness, () => {
    test("has an interval for each time that a device is connected, with why it ended, the newest first", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      expect(await list(store, uuid)).toEqual([]);
      const first = await open(store, uuid, T0);
      expect(await list(store, uuid)).toEqual([interval(T0)]);
      await store.sessions.close(first, T0 + HOUR, "closed");
      await connect(store, uuid, T0 + 2 * HOUR, T0 + 3 * HOUR);
      await open(store, uuid, T0 + 4 * HOUR);
      expect(await list(store, uuid)).toEqual([
        interval(T0 + 4 * HOUR),
        interval(T0 + 2 * HOUR, T0 + 3 * HOUR),
        interval(T0, T0 + HOUR, { endReason: "closed" }),
      ]);
      // A close of the session that is over changes nothing.
      await store.sessions.close(first, T0 + 9 * HOUR, "refused");
      expect((await list(store, uuid))[0]).toEqual(interval(T0 + 4 * HOUR));
    });

    test("is read by range, with the interval that began before it, and in pages", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      const { uuid: other } = await register(store, someAsset());
      for (const hours of [0, 2, 4, 6]) await connect(store, uuid, T0 + hours * HOUR, T0 + (hours + 1) * HOUR);
      const starts = async (from: number, to: number, limit?: number) =>
        (await list(store, uuid, { from: T0 + from * HOUR, to: T0 + to * HOUR }, limit)).map(
          ({ startedAt }) => (startedAt - T0) / HOUR,
        );
      expect(await starts(0, 9)).toEqual([6, 4, 2, 0]);
      expect(await starts(3.5, 6)).toEqual([4, 2]);
      expect(await starts(2, 6)).toEqual([4, 2]);
      expect(await starts(0, 9, 2)).toEqual([6, 4]);
      expect(await starts(-9, 0)).toEqual([]);
      expect(await list(store, other)).toEqual([]);
    });

    test("counts what is over within a minute, and new connections beside one that is open, in their interval", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      await connect(store, uuid, T0, T0 + 100);
      await connect(store, uuid, T0 + 100 + SHORT_INTERRUPTION_S - 1, T0 + 200);
      await open(store, uuid, T0 + 210);
      const last = await open(store, uuid, T0 + 300, "ins_2");
      await store.sessions.close(last, T0 + 400, "lost");
      const swallowed = { takeovers: 1, interruptions: 2, interruptedS: 69, longestInterruptionS: 59 };
      expect(await list(store, uuid)).toEqual([interval(T0, T0 + 400, swallowed)]);
      await connect(store, uuid, T0 + 400 + SHORT_INTERRUPTION_S, T0 + 500);
      expect(await list(store, uuid)).toHaveLength(2);
    });

    test("has a bounded number of intervals for a device that flaps for two days, and loses no second of it", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      // Connected for ten minutes, away for twenty, and so on.
      const times = Array.from({ length: 96 }, (_, index) => T0 + index * 1_800);
      for (const at of times) await connect(store, uuid, at, at + 600);
      const found = await list(store, uuid);
      expect(found).toHaveLength(2 * MAX_INTERVALS_PER_DAY);
      const connected = found.reduce(
        (sum, { startedAt, endedAt = 0, interruptedS }) => sum + endedAt - startedAt - interruptedS,
        0,
      );
      expect(connected).toBe(96 * 600);
      expect(found[0]).toEqual(
        interval(T0 + DAY + 23 * 1_800, T0 + DAY + 47 * 1_800 + 600, {
          interruptions: 24,
          interruptedS: 24 * 1_200,
          longestInterruptionS: 1_200,
        }),
      );
    });

    test("goes on where another instance had ended a session that is taken up again", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      const session = await open(store, uuid, T0);
      await store.sessions.end([session], T0 + 60);
      expect(await list(store, uuid)).toEqual([interval(T0, T0 + 60, { endReason: "service" })]);
      const [resumed] = await store.sessions.reopen("ins_1", [session]);
      expect(await list(store, uuid)).toEqual([interval(T0)]);
      if (!resumed) throw new Error("not taken up again");
      await store.sessions.close(resumed, T0 + HOUR, "lost");
      expect(await list(store, uuid)).toEqual([interval(T0, T0 + HOUR)]);
    });

    test("ends with the service, at the latest when it was last known to run", async () => {
      await using store = await openWithAccounts(harness);
      const [one, two, three] = [
        await register(store, someAsset()),
        await register(store, someAsset()),
        await register(store, someAsset()),
      ].map(({ uuid }) => uuid) as [string, string, string];
      await open(store, one, T0);
      await open(store, two, T0, "ins_2");
      await open(store, three, T0 + 900);
      await store.sessions.closeAll("ins_2", T0 + 500);
      await store.sessions.closeAll(undefined, T0 + 800);
      expect(await list(store, one)).toEqual([interval(T0, T0 + 800, { endReason: "service" })]);
      expect(await list(store, two)).toEqual([interval(T0, T0 + 500, { endReason: "service" })]);
      expect(await list(store, three)).toEqual([interval(T0 + 900, T0 + 900, { endReason: "service" })]);
    });

    test("goes on after a clock that was wrong, in either direction", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      await connect(store, uuid, T0, T0 + HOUR);
      const future = T0 + 30_000 * DAY;
      await open(store, uuid, future);
      // The clock is right again, and the session is replaced.
      await connect(store, uuid, T0 + 2 * HOUR, T0 + 3 * HOUR);
      await connect(store, uuid, 5, 400);
      await connect(store, uuid, T0 + 4 * HOUR, T0 + 5 * HOUR);
      expect(await list(store, uuid)).toEqual([
        interval(future, future),
        interval(T0 + 4 * HOUR, T0 + 5 * HOUR),
        interval(T0 + 2 * HOUR, T0 + 3 * HOUR),
        interval(T0, T0 + HOUR),
        interval(5, 400),
      ]);
    });

    test("is removed when it is old, in batches, but never what is still open, and with its asset", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      const { uuid: other } = await register(store, someAsset());
      for (const hours of [0, 2, 4]) await connect(store, uuid, T0 + hours * HOUR, T0 + (hours + 1) * HOUR);
      await open(store, other, T0);
      expect(await store.connectivity.removeOld(T0 + 5 * HOUR, 1)).toBe(1);
      expect(await store.connectivity.removeOld(T0 + 5 * HOUR, 9)).toBe(1);
      expect(await store.connectivity.removeOld(T0 + 5 * HOUR, 9)).toBe(0);
      expect(await list(store, uuid)).toEqual([interval(T0 + 4 * HOUR, T0 + 5 * HOUR)]);
      expect(await list(store, other)).toEqual([interval(T0)]);
      await store.assets.removeAsset(uuid);
      expect(await list(store, uuid)).toEqual([]);
    });
  });
}
