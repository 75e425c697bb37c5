import { expect, test } from "vitest";
import { HEALTH_METRICS, MAX_ANSWERED_APPS } from "../../../src/protocol/link/device-health.ts";
import type { AppHealthRow } from "../../../src/protocol/link/app-health.ts";
import type { HealthRow } from "../../../src/protocol/link/health-points.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { describeDomain, openWithAccounts, register, someAsset, type StoreHarness } from "./harness.ts";

const DAY = 86_400;
const QUARTER = 900;
const HOUR = 3_600;
/** The start of a day. */
const DAY_0 = 20_000;
const T0 = DAY_0 * DAY;
const ALL = { from: 0, to: 2 ** 33 };

const row = (index: number, cpu = index): HealthRow => ({
  at: T0 + index * QUARTER,
  spreads: { cpu_percent: [cpu, cpu + 1, cpu + 2], temperature_celsius: [-5, -5, -5] },
});

const rows = (...indexes: readonly number[]): HealthRow[] => indexes.map((index) => row(index));

const used = (hour: number, memory: number, name = "web"): AppHealthRow => ({
  at: T0 + hour * HOUR,
  apps: new Map([[name, { cpu_percent: [0, 0.1], memory_bytes: [memory, memory], restarts: 1 }]]),
});
const MB = 1_048_576;

const list = (store: Store, assetUuid: string, range = ALL) => store.health.listRows(assetUuid, range);

async function healthAt(store: Store, assetUuid: string): Promise<number | undefined> {
  const session = { assetUuid, sessionId: "s", instanceId: "ins_1", protocol: 1, at: T0 };
  return (await store.sessions.open(session))?.healthAt;
}

/** Contract of stores for how devices were. */
export function healthContract(harness: StoreHarness): void {
  describeDomain("health", harness, () => {
    test("has the rows of each device, in order, with their gaps, over the end of a day", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      const { uuid: other } = await register(store, someAsset());
      expect(await list(store, uuid)).toEqual({ rowS: QUARTER, rows: [], apps: [] });
      expect(await store.health.addRows(uuid, rows(0, 1, 5))).toBe(3);
      expect(await store.health.addRows(uuid, rows(94, 95, 96, 97))).toBe(4);
      expect(await list(store, uuid)).toEqual({ rowS: QUARTER, rows: rows(0, 1, 5, 94, 95, 96, 97), apps: [] });
      expect((await list(store, uuid, { from: T0 + DAY, to: T0 + 2 * DAY })).rows).toEqual(rows(96, 97));
      expect((await list(store, other)).rows).toEqual([]);
      const full = {
        at: T0,
        spreads: Object.fromEntries(HEALTH_METRICS.map((metric) => [metric, [1, 2, 3] as const])),
      };
      await store.health.addRows(other, [full]);
      expect((await list(store, other)).rows).toEqual([full]);
    });

    test("has a row once, however often and in which order it is sent, and the first one stays", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      await store.health.addRows(uuid, rows(4, 5));
      expect(await store.health.addRows(uuid, rows(4, 5))).toBe(0);
      expect(await store.health.addRows(uuid, [row(2), row(4, 99), row(6)])).toBe(2);
      expect((await list(store, uuid)).rows).toEqual(rows(2, 4, 5, 6));
      expect(await store.health.addRows(uuid, [])).toBe(0);
    });

    test("keeps what two sessions of a device bring at a time", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      const added = await Promise.all(
        [0, 1, 2, 3, 4, 5].map((index) => store.health.addRows(uuid, rows(index, index + 1))),
      );
      expect(added.reduce((sum, each) => sum + each, 0)).toBe(7);
      expect((await list(store, uuid)).rows).toEqual(rows(0, 1, 2, 3, 4, 5, 6));
    });

    test("says to the next session of a device which row is the newest", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      expect(await healthAt(store, uuid)).toBeUndefined();
      await store.health.addRows(uuid, rows(3, 95, 96));
      expect(await healthAt(store, uuid)).toBe(T0 + 96 * QUARTER);
      await store.health.addRows(uuid, rows(7));
      expect(await healthAt(store, uuid)).toBe(T0 + 96 * QUARTER);
    });

    test("has the means of the newest row of many devices", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      const { uuid: other } = await register(store, someAsset());
      const { uuid: none } = await register(store, someAsset());
      await store.health.addRows(uuid, [row(1), { at: row(2).at, spreads: { disk_percent: [1, 2.4, 3] } }]);
      await store.health.addRows(other, rows(7));
      expect(await store.health.listNewest([uuid, none])).toEqual(
        new Map([[uuid, { at: T0 + 2 * QUARTER, means: { disk_percent: 2 }, apps: undefined }]]),
      );
      const means = { cpu_percent: 8, temperature_celsius: -5 };
      expect((await store.health.listNewest([other, uuid])).get(other)).toEqual({
        at: T0 + 7 * QUARTER,
        means,
        apps: undefined,
      });
      expect(await store.health.listNewest([])).toEqual(new Map());
    });

    test("makes hours of what is old, in batches, and removes what is older, but what is new never", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      const { uuid: other } = await register(store, someAsset());
      const whole = Array.from({ length: 96 }, (_, index) => index);
      await store.health.addRows(uuid, rows(...whole, 96, 97));
      await store.health.addRows(other, rows(1, 2));
      expect(await store.health.condenseDays(DAY_0, 9)).toBe(0);
      expect(await store.health.condenseDays(DAY_0 + 1, 1)).toBe(1);
      expect(await store.health.condenseDays(DAY_0 + 1, 9)).toBe(1);
      expect(await store.health.condenseDays(DAY_0 + 1, 9)).toBe(0);
      const { rowS, rows: kept } = await list(store, uuid);
      expect([rowS, kept.length]).toEqual([HOUR, 26]);
      expect(kept[1]).toEqual({
        at: T0 + HOUR,
        spreads: { cpu_percent: [4, 7, 9], temperature_celsius: [-5, -5, -5] },
      });
      expect(kept.slice(-2)).toEqual(rows(96, 97));
      expect((await list(store, other)).rows).toHaveLength(1);
      // A day that is condensed takes no more rows.
      expect(await store.health.addRows(other, rows(9))).toBe(0);
      expect(await store.health.removeDays(DAY_0, 9)).toBe(0);
      expect(await store.health.removeDays(DAY_0 + 9, 1)).toBe(1);
      expect(await store.health.removeDays(DAY_0 + 9, 9)).toBe(1);
      expect((await list(store, uuid)).rows).toEqual(rows(96, 97));
    });

    test("has what apps used in each hour, once, with the rows of its day, as long as those", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      expect(await store.health.addRows(uuid, rows(3), [used(0, MB)])).toBe(1);
      await store.health.addRows(uuid, rows(7, 99), [used(0, 8 * MB), used(1, 2 * MB), used(24, 4 * MB)]);
      // A day without rows of the machine has none of its apps.
      await store.health.addRows(uuid, rows(100), [used(49, MB)]);
      const expected = [used(0, MB), used(1, 2 * MB), used(24, 4 * MB)];
      expect((await list(store, uuid)).apps).toEqual(expected);
      expect((await list(store, uuid, { from: T0 + DAY, to: T0 + 2 * DAY })).apps).toEqual([used(24, 4 * MB)]);
      expect(await store.health.condenseDays(DAY_0 + 1, 9)).toBe(1);
      expect((await list(store, uuid)).apps).toEqual(expected);
      await store.health.removeDays(DAY_0 + 1, 9);
      expect((await list(store, uuid)).apps).toEqual([used(24, 4 * MB)]);
    });

    test("has what apps used in the newest hour, as long as the device sends it", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      const newest = async () => (await store.health.listNewest([uuid])).get(uuid)?.apps;
      await store.health.addRows(uuid, rows(7), [used(0, MB), used(1, 2 * MB)]);
      expect(await newest()).toEqual(used(1, 2 * MB));
      await store.health.addRows(uuid, rows(8, 9));
      expect(await newest()).toEqual(used(1, 2 * MB));
      await store.health.addRows(uuid, rows(16));
      expect(await newest()).toBeUndefined();
    });

    test("has a bounded number of apps for each day, and those that are on record stay", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      await store.health.addRows(uuid, rows(3), [used(0, MB)]);
      for (let hour = 1; hour < 24; hour++)
        await store.health.addRows(uuid, rows(4 * hour + 3), [
          {
            at: T0 + hour * HOUR,
            apps: new Map(
              Array.from({ length: 16 }, (_, index) => [
                `h${hour}-${index}`,
                { memory_bytes: [9 * MB, 9 * MB], restarts: 0 },
              ]),
            ),
          },
        ]);
      const { apps } = await list(store, uuid);
      expect(new Set(apps.flatMap((one) => [...one.apps.keys()])).size).toBe(MAX_ANSWERED_APPS);
      expect(apps[0]).toEqual(used(0, MB));
    });

    test("goes with its asset, and what is sent for it afterwards is dropped", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      await store.health.addRows(uuid, rows(1));
      await store.assets.removeAsset(uuid);
      expect(await store.health.addRows(uuid, rows(2))).toBe(0);
      expect((await list(store, uuid)).rows).toEqual([]);
    });
  });
}
