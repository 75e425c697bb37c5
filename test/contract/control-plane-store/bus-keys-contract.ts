import { expect, test } from "vitest";
import { describeDomain, type StoreHarness } from "./harness.ts";

/** Contract of stores for the keys that instances share. */
export function busKeysContract(harness: StoreHarness): void {
  describeDomain("bus keys", harness, () => {
    test("keys are listed, the newest first, until they are removed by their age", async () => {
      await using store = await harness.open();
      const { busKeys } = store;
      const plain = { id: "b", keyId: undefined, sealed: Buffer.from([1, 0, 255]), createdAtMs: 2 };
      const sealed = { id: "a", keyId: "key_a", sealed: Buffer.from("sealed"), createdAtMs: 1_795_178_868_123 };
      const same = { ...plain, id: "a2" };
      for (const key of [plain, sealed, same]) await busKeys.add(key);
      const stored = await busKeys.list();
      const bytes = expect.any(Uint8Array) as Uint8Array;
      expect(stored).toEqual(
        [sealed, same, plain].map(({ id, keyId, createdAtMs }) => ({ id, keyId, createdAtMs, sealed: bytes })),
      );
      expect(stored.map(({ sealed: each }) => Buffer.from(each))).toEqual(
        [sealed, same, plain].map((key) => key.sealed),
      );
      await busKeys.removeBefore(sealed.createdAtMs);
      expect((await busKeys.list()).map(({ id }) => id)).toEqual(["a"]);
    });
  });
}
