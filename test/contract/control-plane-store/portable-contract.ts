import { expect, test } from "vitest";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { MAX_RECORD_BYTES, type UsageRecord } from "../../../src/control-plane/store/usage.ts";
import { someSuperSim } from "../../support/control-plane/sims.ts";
import { recordsOf } from "../../support/control-plane/usage-records.ts";
import {
  ACCOUNT,
  describeDomain,
  hash,
  listAssets,
  openWithAccounts,
  register,
  someAsset,
  type StoreHarness,
} from "./harness.ts";

const ICCID = "8988307001000000001";
const NUL = "\0";

/** Repetitions of concurrent changes: the first ones are spread by the connections that are opened for them. */
const ROUNDS = 6;

const EVERY_TIME = { start: 0, end: 2_000_000_000 };

async function namesFound(store: Store, text: string): Promise<string[]> {
  const found = await listAssets(store, ACCOUNT, { status: undefined, type: undefined, text }, 100);
  return found.map(({ name }) => name);
}

const recordAt = (startTime: number, bytes = 1, bucket = "a"): UsageRecord => ({
  iccid: ICCID,
  bucket,
  startTime,
  endTime: startTime + 1,
  bytes,
});

function monthOf({ startTime }: UsageRecord): number {
  const date = new Date(startTime * 1000);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth()) / 1000;
}

/** What databases do differently unless the statements say otherwise: text, numbers, time, and concurrent changes. */
export function portableContract(harness: StoreHarness): void {
  describeDomain("text", harness, () => {
    test("a search ignores the case of ASCII letters alone, and its wildcards are text", async () => {
      await using store = await openWithAccounts(harness);
      const names = ["Pump ÄRZTE", "pump ärzte", "100 % PUMP", String.raw`a_b\c`, "Iıi", "Straße", "насос"];
      for (const name of names) await register(store, someAsset({ name }));
      expect(await namesFound(store, "pUMP")).toEqual(["Pump ÄRZTE", "pump ärzte", "100 % PUMP"]);
      expect(await namesFound(store, "äRZ")).toEqual(["pump ärzte"]);
      expect(await namesFound(store, "Ärz")).toEqual(["Pump ÄRZTE"]);
      expect(await namesFound(store, "%")).toEqual(["100 % PUMP"]);
      expect(await namesFound(store, "A_B\\")).toEqual([String.raw`a_b\c`]);
      expect(await namesFound(store, "iI")).toEqual([]);
      expect(await namesFound(store, "STRASSE")).toEqual([]);
      expect(await namesFound(store, "НАСОС")).toEqual([]);
      expect(await namesFound(store, "насос")).toEqual(["насос"]);
      expect(await namesFound(store, "gw-")).toHaveLength(names.length);
    });

    test("names sort by their bytes, whatever their script", async () => {
      await using store = await openWithAccounts(harness);
      const sorted = ["-a", "B", "Z", "_", "a", "a b", "ab", "z", "Ä", "ä", "я", "漢", "\u{1F600}"];
      for (const name of sorted.toReversed()) await store.networkGroups.addNetworkGroup(ACCOUNT, name);
      expect(await store.networkGroups.listNetworkGroups(ACCOUNT)).toEqual(sorted);
    });

    test("text with NUL matches nothing", async () => {
      await using store = await openWithAccounts(harness);
      const asset = await register(store, someAsset({ name: "Pump", type: "gateway" }));
      for (const text of [NUL, `Pump${NUL}`, `${NUL}Pump`]) expect(await namesFound(store, text)).toEqual([]);
      const filter = { status: undefined, type: `gateway${NUL}`, text: undefined };
      expect(await listAssets(store, ACCOUNT, filter, 10)).toEqual([]);
      expect(await store.assets.findAsset(ACCOUNT, `${asset.serialNumber}${NUL}`)).toBeUndefined();
    });
  });

  describeDomain("usage", harness, () => {
    test("months begin in UTC, also at the ends of leap days and years", async () => {
      await using store = await openWithAccounts(harness);
      await register(store, someAsset({ supersim: someSuperSim({ iccid: ICCID }) }));
      const months = ["1970-01", "2024-02", "2024-03", "2025-12", "2026-01", "2026-03", "2026-04", "2026-10"];
      const starts = months.map((month) => Date.parse(`${month}-01T00:00:00Z`) / 1000);
      const records = starts.flatMap((start) => [recordAt(start), recordAt(start - 1)]).filter((r) => r.startTime >= 0);
      await store.usage.recordUsage(recordsOf(records));
      const found = await store.usage.sumUsage(ICCID, EVERY_TIME, "month");
      const expected = [...new Set(records.map(monthOf))].toSorted((a, b) => a - b);
      expect(found.map(({ periodStart }) => periodStart)).toEqual(expected);
    });

    test("a sum is at most the largest exact number", async () => {
      await using store = await openWithAccounts(harness);
      await register(store, someAsset({ supersim: someSuperSim({ iccid: ICCID }) }));
      const records = Array.from({ length: 8193 }, (_, second) => recordAt(second, MAX_RECORD_BYTES));
      await store.usage.recordUsage(recordsOf(records));
      const sumOf = async (end: number) => (await store.usage.sumUsage(ICCID, { start: 0, end }, "all"))[0]?.bytes;
      expect(await sumOf(8191)).toBe(8191 * MAX_RECORD_BYTES);
      expect(await sumOf(8192)).toBe(Number.MAX_SAFE_INTEGER);
      expect(await sumOf(8193)).toBe(Number.MAX_SAFE_INTEGER);
    });

    test("an import of many records, with repetitions, stores each of them once", async () => {
      await using store = await openWithAccounts(harness);
      await register(store, someAsset({ supersim: someSuperSim({ iccid: ICCID }) }));
      // More than one slice of the store, whole chunks, chunks with a repetition, and a rest.
      const records = Array.from({ length: 21_203 }, (_, index) =>
        recordAt(index - (index % 977 === 1 ? 1 : 0), index),
      );
      const last = new Map(records.map((record) => [record.startTime, record.bytes]));
      expect(await store.usage.recordUsage(recordsOf(records))).toBe(last.size);
      const [total] = await store.usage.sumUsage(ICCID, EVERY_TIME, "all");
      expect(total?.bytes).toBe([...last.values()].reduce((sum, bytes) => sum + bytes, 0));
    });

    test("an asset that is removed during an import leaves no usage to a later owner of its SIM", async () => {
      await using store = await openWithAccounts(harness);
      for (let round = 0; round < ROUNDS; round++) {
        const asset = await register(store, someAsset({ supersim: someSuperSim({ iccid: ICCID }) }));
        const records = Array.from({ length: 300 }, (_, second) => recordAt(second));
        await Promise.all([store.usage.recordUsage(recordsOf(records)), store.assets.removeAsset(asset.uuid)]);
        expect(await store.usage.sumUsage(ICCID, EVERY_TIME, "all")).toEqual([]);
      }
    });
  });

  describeDomain("concurrent changes", harness, () => {
    test("of assets with the same identifiers in different fields: one is registered, the others name the owner", async () => {
      await using store = await openWithAccounts(harness);
      for (let round = 0; round < ROUNDS; round++) {
        const [first, second] = [`GW-${round}-a`, `GW-${round}-b`];
        const claims = [0, 1, 2, 3].map((index) =>
          someAsset({
            accountId: `acc_${1 + (index % 2)}`,
            serialNumber: index % 2 === 0 ? first : second,
            supersim: someSuperSim({ sid: index % 2 === 0 ? second : first }),
          }),
        );
        const results = await Promise.all(claims.map((asset) => store.assets.registerAsset(asset, hash(asset.uuid))));
        const winner = claims[results.findIndex(({ ok }) => ok)];
        expect(results.filter(({ ok }) => ok)).toHaveLength(1);
        for (const result of results.filter(({ ok }) => !ok))
          expect(result).toMatchObject({ owner: { assetUuid: winner?.uuid, accountId: winner?.accountId } });
      }
    });

    test("of one asset that is registered twice: the second is told", async () => {
      await using store = await openWithAccounts(harness);
      for (let round = 0; round < ROUNDS; round++) {
        const asset = someAsset();
        const tokens = ["one", "two", "three"].map((token) => hash(`${token} ${round}`));
        const results = await Promise.all(tokens.map((token) => store.assets.registerAsset(asset, token)));
        expect(results.filter(({ ok }) => ok)).toHaveLength(1);
        expect(results.filter(({ ok }) => !ok)).toMatchObject([{ taken: "uuid" }, { taken: "uuid" }]);
      }
    });

    test("codes of one asset that are issued together: one stays valid", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      for (let round = 0; round < ROUNDS; round++) {
        const codes = ["one", "two", "three", "four"].map((code) => hash(`${code} ${round}`));
        const code = { assetUuid: uuid, createdAt: 1, expiresAt: 100, usedAt: undefined, mayReplace: true };
        await Promise.all(codes.map((each) => store.enrolments.issueCode(code, each)));
        const found = await Promise.all(codes.map((each) => store.enrolments.findCode(each)));
        expect(found.filter((each) => each !== undefined)).toHaveLength(1);
      }
    });

    test("a code that several devices use at once: one of them gets the asset's token", async () => {
      await using store = await openWithAccounts(harness);
      for (let round = 0; round < ROUNDS; round++) {
        const { uuid } = await register(store, someAsset());
        const code = hash(`code ${round}`);
        await store.enrolments.issueCode(
          { assetUuid: uuid, createdAt: 1, expiresAt: 100, usedAt: undefined, mayReplace: true },
          code,
        );
        const uses = ["a", "b", "c", "d", "e"].map((device) => ({
          hash: code,
          nonceHash: hash(`nonce ${device}`),
          at: 5,
          tokenHash: hash(`token ${device} ${round}`),
        }));
        const results = await Promise.all(uses.map((use) => store.enrolments.useCode(use)));
        expect(results.filter((result) => result === "used")).toHaveLength(1);
        expect(await store.enrolments.findCode(code)).toMatchObject({ code: { usedAt: 5 } });
        for (const [index, use] of uses.entries()) {
          const asset = await store.assets.findAssetByDeviceToken(use.tokenHash);
          expect(asset?.uuid).toBe(results[index] === "used" ? uuid : undefined);
          // Its device may repeat the request, since the response may have been lost.
          expect(await store.enrolments.useCode({ ...use, at: 9 })).toBe(results[index]);
        }
      }
    });
  });
}
