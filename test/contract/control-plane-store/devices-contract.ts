import { expect, test } from "vitest";
import type { DeviceReport } from "../../../src/control-plane/core/device-report.ts";
import type { DeviceDataUsage } from "../../../src/protocol/link/data-usage.ts";
import { ACCOUNT, describeDomain, hash, openWithAccounts, register, someAsset, type StoreHarness } from "./harness.ts";

const report = (text: string): DeviceReport => ({ hash: text, apps: [], device: undefined });
const nothing: DeviceDataUsage = { days: [], deployments: [], budget: null };

const code = (assetUuid: string, createdAt = 10) => ({
  assetUuid,
  createdAt,
  expiresAt: 100,
  usedAt: undefined,
  mayReplace: true,
});

/** Contract of stores for devices and enrolments. */
export function devicesContract(harness: StoreHarness): void {
  describeDomain("devices", harness, () => {
    test("a report replaces only the one it is based on", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      expect(await store.devices.findReport(uuid)).toBeUndefined();
      expect(await store.devices.replaceReport(uuid, "none", { value: report("x"), at: 1 })).toBe(false);
      expect(await store.devices.replaceReport(uuid, undefined, { value: report("a"), at: 1 })).toBe(true);
      expect(await store.devices.replaceReport(uuid, undefined, { value: report("x"), at: 2 })).toBe(false);
      const writes = ["b", "c", "d"].map((text) =>
        store.devices.replaceReport(uuid, "a", { value: report(text), at: 3 }),
      );
      expect((await Promise.all(writes)).filter(Boolean)).toHaveLength(1);
      const held = await store.devices.findReport(uuid);
      expect(["b", "c", "d"]).toContain(held?.value.hash);
      expect(held).toMatchObject({ at: 3, value: { apps: [] } });
      expect(await store.devices.findReportHash(uuid)).toBe(held?.value.hash);
      await store.assets.removeAsset(uuid);
      expect(await store.devices.findReportHash(uuid)).toBeUndefined();
      expect(await store.devices.replaceReport(uuid, undefined, { value: report("y"), at: 4 })).toBe(false);
    });

    test("that changes of a report are held back is stored until it is replaced, and for no device without one", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      const heldSince = async () => (await store.devices.findReport(uuid))?.heldSince;
      await store.devices.recordHeld(uuid, 5);
      expect(await store.devices.findReport(uuid)).toBeUndefined();
      await store.devices.replaceReport(uuid, undefined, { value: report("a"), at: 1 });
      expect(await heldSince()).toBeUndefined();
      await store.devices.recordHeld(uuid, 7);
      expect(await heldSince()).toBe(7);
      expect(await store.devices.replaceReport(uuid, "other", { value: report("x"), at: 2 })).toBe(false);
      expect(await heldSince()).toBe(7);
      await store.devices.recordHeld(uuid, undefined);
      expect(await heldSince()).toBeUndefined();
      await store.devices.recordHeld(uuid, 8);
      await store.devices.replaceReport(uuid, "a", { value: report("b"), at: 9 });
      expect(await store.devices.findReport(uuid)).toMatchObject({ value: { hash: "b" }, heldSince: undefined });
    });

    test("concurrent updates of a ledger are all stored", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      expect(await store.devices.findLedger(uuid)).toBeUndefined();
      const add = (id: string) =>
        store.devices.updateLedger(uuid, (held) => ({
          value: {
            ...nothing,
            deployments: [
              ...(held?.value.deployments ?? []),
              { day: "2026-11-01", deployment_id: id, app: "web", sent: 0, received: 1 },
            ] as DeviceDataUsage["deployments"],
          },
          at: (held?.at ?? 0) + 1,
        }));
      await Promise.all(Array.from({ length: 20 }, (_, index) => add(`dep_${index}`)));
      const ledger = await store.devices.findLedger(uuid);
      expect(ledger?.at).toBe(20);
      expect(new Set(ledger?.value.deployments.map(({ deployment_id: id }) => id)).size).toBe(20);
      await store.devices.updateLedger("gone", () => ({ value: nothing, at: 1 }));
      expect(await store.devices.findLedger("gone")).toBeUndefined();
    });
  });

  describeDomain("enrolments", harness, () => {
    test("of several devices that use a code concurrently, one succeeds, and may repeat it", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      await store.sessions.open({
        assetUuid: uuid,
        sessionId: "s",
        instanceId: "ins_1",
        protocol: 4,
        agentVersion: "1",
        at: 15,
      });
      await store.enrolments.issueCode(code(uuid), hash("code"));
      const use = (nonce: string, token: string) =>
        store.enrolments.useCode({ hash: hash("code"), nonceHash: hash(nonce), at: 20, tokenHash: hash(token) });
      const used = await Promise.all(["a", "b", "c", "d"].map((nonce) => use(nonce, `token-${nonce}`)));
      expect(used.filter((result) => result === "used")).toHaveLength(1);
      const winner = ["a", "b", "c", "d"][used.indexOf("used")] ?? "";
      expect(await use(winner, "token-again")).toBe("used");
      expect(await store.enrolments.findCode(hash("code"))).toMatchObject({
        code: { ...code(uuid), usedAt: 20 },
        nonceHash: expect.objectContaining({ length: 1 }),
      });
      // The current token stays valid until the device connects with the new one.
      expect((await store.assets.findAssetByDeviceToken(hash(uuid)))?.uuid).toBe(uuid);
      expect((await store.assets.findAssetByDeviceToken(hash("token-again")))?.uuid).toBe(uuid);
      expect(await store.assets.findDevice(hash(uuid))).toMatchObject({ asset: { uuid }, isNextToken: false });
      expect(await store.assets.findDevice(hash("token-again"))).toMatchObject({ asset: { uuid }, isNextToken: true });
      expect(await store.assets.findDevice(hash("another"))).toBeUndefined();
      expect(await store.assets.replaceDeviceToken(uuid, hash(uuid), 21_000)).toBe(false);
      const replaced = [1, 2, 3].map(() => store.assets.replaceDeviceToken(uuid, hash("token-again"), 21_000));
      expect((await Promise.all(replaced)).filter(Boolean)).toHaveLength(1);
      expect(await store.assets.findAssetByDeviceToken(hash(uuid))).toBeUndefined();
    });

    test("a newer code invalidates unused ones, and all are removed with their asset", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset({ accountId: ACCOUNT }));
      await store.enrolments.issueCode(code(uuid), hash("one"));
      await store.enrolments.issueCode(code(uuid, 11), hash("two"));
      expect(await store.enrolments.findCode(hash("one"))).toBeUndefined();
      const use = { hash: hash("one"), nonceHash: hash("n"), at: 20, tokenHash: hash("t") };
      expect(await store.enrolments.useCode(use)).toBe("used_before");
      expect(await store.enrolments.findCode(hash("two"))).toMatchObject({
        code: code(uuid, 11),
        nonceHash: undefined,
      });
      await store.assets.removeAsset(uuid);
      expect(await store.enrolments.findCode(hash("two"))).toBeUndefined();
    });
  });
}
