import { expect, test } from "vitest";
import {
  IDEMPOTENCY_KEPT_MS,
  type IdempotentRequest,
  MAX_IDEMPOTENT_REQUEST_MS,
} from "../../../src/control-plane/store/idempotency.ts";
import { someAudit } from "../../support/control-plane/people.ts";
import { ACCOUNT, describeDomain, hash, openWithAccounts, register, someAsset, type StoreHarness } from "./harness.ts";

const NOW = 1_000_000_000_000;
const LAPSED = NOW + MAX_IDEMPOTENT_REQUEST_MS;

const request = (fields: Partial<IdempotentRequest> = {}): IdempotentRequest => ({
  accountId: ACCOUNT,
  keyHash: hash("key"),
  principalId: "key_1",
  operation: "POST /v1/fleets",
  fingerprint: hash("fingerprint"),
  ...fields,
});

const numbered = (number: number, fields: Partial<IdempotentRequest> = {}) =>
  request({ keyHash: hash(`key ${number}`), ...fields });

/** Contract of stores for requests with an `Idempotency-Key`. */
export function idempotencyContract(harness: StoreHarness): void {
  describeDomain("idempotent requests", harness, () => {
    test("of repetitions at once one is carried out, and later ones get its response", async () => {
      await using store = await openWithAccounts(harness);
      const claims = await Promise.all([1, 2, 3, 4].map(() => store.idempotency.claim(request(), NOW)));
      expect(claims.map(({ kind }) => kind).toSorted()).toEqual([
        "claimed",
        "in_progress",
        "in_progress",
        "in_progress",
      ]);
      await store.idempotency.complete(request(), hash("response"));
      const claim = await store.idempotency.claim(request(), NOW + 1);
      expect(claim).toEqual({ kind: "done", response: expect.any(Uint8Array) });
      expect(Buffer.from((claim as { response: Uint8Array }).response).toString()).toBe("response");
    });

    test("a key is that of one request in one account, for as long as it is kept", async () => {
      await using store = await openWithAccounts(harness);
      await store.idempotency.claim(request(), NOW);
      const other = { kind: "other", principalId: "key_1", operation: "POST /v1/fleets" };
      for (const fields of [{ fingerprint: hash("another") }, { principalId: "key_2" }])
        expect(await store.idempotency.claim(request(fields), NOW)).toEqual(other);
      for (const fields of [{ accountId: "acc_2" }, { keyHash: hash("another key") }])
        expect((await store.idempotency.claim(request(fields), NOW)).kind).toBe("claimed");
      await store.idempotency.complete(request(), hash("response"));
      const another = request({ fingerprint: hash("another") });
      expect((await store.idempotency.claim(another, NOW + IDEMPOTENCY_KEPT_MS - 1)).kind).toBe("other");
      expect((await store.idempotency.claim(another, NOW + IDEMPOTENCY_KEPT_MS)).kind).toBe("claimed");
    });

    test("a request that was refused is forgotten", async () => {
      await using store = await openWithAccounts(harness);
      for (const isInDoubt of [false, true]) {
        await store.idempotency.claim(request(), NOW);
        await store.idempotency.release(request(), isInDoubt);
      }
      expect((await store.idempotency.claim(request({ fingerprint: hash("another") }), NOW)).kind).toBe("claimed");
    });

    test("that a request was carried out is stored with its change, or not at all", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      const audit = { ...someAudit("asset.tagged"), idempotencyKeyHash: hash("key") };
      const tag = (refuse?: () => never) =>
        store.assetSettings.changeTags(uuid, new Map([["role", "kiosk"]]), true, audit, refuse);
      await store.idempotency.claim(request(), NOW);
      const refused = tag(() => {
        throw new Error("refused");
      });
      await expect(refused).rejects.toThrow("refused");
      // Its process has ended without a change: the next request is carried out.
      expect((await store.idempotency.claim(request(), LAPSED - 1)).kind).toBe("in_progress");
      const restarted = await Promise.all([1, 2].map(() => store.idempotency.claim(request(), LAPSED)));
      expect(restarted.map(({ kind }) => kind).toSorted()).toEqual(["claimed", "in_progress"]);
      expect(await tag()).toBe("changed");
      await store.idempotency.release(request(), true);
      expect((await store.idempotency.claim(request(), LAPSED + 1)).kind).toBe("in_progress");
      const later = await store.idempotency.claim(request(), LAPSED + MAX_IDEMPOTENT_REQUEST_MS);
      expect(later).toEqual({ kind: "done", response: undefined });
    });

    test("what processes have left that are gone is ended at once", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      for (const number of [1, 2, 3]) await store.idempotency.claim(numbered(number), NOW);
      const audit = { ...someAudit("asset.tagged"), idempotencyKeyHash: hash("key 1") };
      await store.assetSettings.changeTags(uuid, new Map([["role", "kiosk"]]), true, audit);
      await store.idempotency.complete(numbered(2), hash("response"));
      await store.idempotency.endAbandoned();
      const claims = await Promise.all([1, 2, 3].map((number) => store.idempotency.claim(numbered(number), NOW + 1)));
      expect(claims).toEqual([
        { kind: "done", response: undefined },
        { kind: "done", response: expect.any(Uint8Array) },
        { kind: "claimed" },
      ]);
      const other = await store.idempotency.claim(numbered(1, { fingerprint: hash("other") }), NOW + 1);
      expect(other.kind).toBe("other");
    });

    test("an entry about a failure does not say that the request was carried out", async () => {
      await using store = await openWithAccounts(harness);
      await store.idempotency.claim(request(), NOW);
      const audit = { ...someAudit("asset.changed"), idempotencyKeyHash: hash("key"), outcome: "SimOperatorFailed" };
      await store.audit.addEntry(audit);
      expect((await store.idempotency.claim(request(), LAPSED)).kind).toBe("claimed");
    });

    test.each([
      ["requests", { maxRequests: 3, maxBytes: 1_000 }, 3],
      ["bytes", { maxRequests: 100, maxBytes: 250 }, 2],
    ])("the newest of an account are kept: %s", async (_what, limits, kept) => {
      await using store = await openWithAccounts(harness);
      const numbers = [1, 2, 3, 4, 5, 6];
      await store.idempotency.claim(numbered(0), NOW);
      await store.idempotency.claim(numbered(1, { accountId: "acc_2" }), NOW);
      await store.idempotency.complete(numbered(1, { accountId: "acc_2" }), hash("x".repeat(100)));
      for (const number of numbers) {
        await store.idempotency.claim(numbered(number), NOW + number);
        await store.idempotency.complete(numbered(number), hash("x".repeat(100)), limits);
      }
      // Without a change: the key of what is kept is that of another request.
      const claims = await Promise.all(
        [0, ...numbers].map((number) =>
          store.idempotency.claim(numbered(number, { fingerprint: hash("other") }), NOW + 10),
        ),
      );
      const found = claims.flatMap(({ kind }, number) => (kind === "other" ? [number] : []));
      // The first one is under way.
      expect(found).toEqual([0, ...numbers.slice(-kept)]);
      const stranger = await store.idempotency.claim(numbered(1, { accountId: "acc_2" }), NOW + 10);
      expect(stranger.kind).toBe("done");
    });

    test("old ones are removed", async () => {
      await using store = await openWithAccounts(harness);
      await store.idempotency.claim(request(), NOW);
      await store.idempotency.removeOld(NOW);
      expect((await store.idempotency.claim(request(), NOW)).kind).toBe("in_progress");
      await store.idempotency.removeOld(NOW + 1);
      expect((await store.idempotency.claim(request(), NOW)).kind).toBe("claimed");
    });
  });
}
