import { join } from "node:path";
import { expect, test, vi } from "vitest";
import type { ApiKey } from "../../../src/control-plane/store/accounts.ts";
import { CachedKeyStore } from "../../../src/control-plane/store/cached-keys.ts";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import { tempDir } from "../../support/temp-dir.ts";

const HASH = Buffer.from("hash");

const turn = () =>
  new Promise<void>((resolve) => {
    setImmediate(resolve);
  });

function someKey(id: string): ApiKey {
  return {
    id,
    accountId: "acc_1",
    name: id,
    createdAt: 1,
    lastUsedAt: undefined,
    revokedAt: undefined,
    permissions: [],
    role: "admin",
    expiresAt: undefined,
    createdBy: undefined,
  };
}

async function setUp() {
  const { keys: stored, accounts } = openStore(":memory:");
  await accounts.createAccount({ id: "acc_1", name: "x", createdAt: 0 });
  await stored.createKey(someKey("key_1"), HASH);
  const state = { version: 1 };
  const find = vi.spyOn(stored, "findKeyByHash");
  const keys = new CachedKeyStore(stored, () => state.version);
  return { keys, stored, state, reads: () => find.mock.calls.length };
}

test("a key is read once, until it or the database of another process changes", async () => {
  const { keys, state, reads } = await setUp();
  for (let count = 0; count < 3; count++) {
    expect(await keys.findKeyByHash(HASH)).toMatchObject({ id: "key_1" });
    await turn();
  }
  expect(reads()).toBe(1);
  await keys.recordKeyUse("key_1", 7);
  expect((await keys.findKeyByHash(HASH))?.lastUsedAt).toBe(7);
  await keys.recordKeyUse("key_other", 7);
  await keys.findKeyByHash(HASH);
  expect(reads()).toBe(2);
  await turn();
  state.version = 2;
  await keys.findKeyByHash(HASH);
  expect(reads()).toBe(3);
});

test("a revoked key is known as revoked at once, also if it was being read then", async () => {
  const { keys, reads } = await setUp();
  await keys.findKeyByHash(HASH);
  await turn();
  const [before] = await Promise.all([keys.findKeyByHash(HASH), keys.revokeKey("key_1", 9)]);
  expect(before?.revokedAt).toBeUndefined();
  expect((await keys.findKeyByHash(HASH))?.revokedAt).toBe(9);
  expect(reads()).toBe(2);
});

test("what was read before a change is not kept", async () => {
  const { keys, stored, state } = await setUp();
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const key = await stored.findKeyByHash(HASH);
  const read = vi.spyOn(stored, "findKeyByHash").mockImplementationOnce(async () => (await promise) ?? key);
  const early = keys.findKeyByHash(HASH);
  await keys.revokeKey("key_1", 9);
  resolve(undefined);
  expect((await early)?.revokedAt).toBeUndefined();
  expect((await keys.findKeyByHash(HASH))?.revokedAt).toBe(9);

  const { promise: second, resolve: resolveSecond } = Promise.withResolvers<undefined>();
  state.version = 2;
  await turn();
  read.mockImplementationOnce(async () => (await second) ?? key);
  const late = keys.findKeyByHash(HASH);
  await turn();
  state.version = 3;
  await keys.findKeyByHash(Buffer.from("other"));
  resolveSecond(undefined);
  await late;
  expect((await keys.findKeyByHash(HASH))?.revokedAt).toBe(9);
});

test("unknown keys are not kept, and of the others a bounded number", async () => {
  const { keys, stored, reads } = await setUp();
  const unknown = Buffer.from("unknown");
  for (let count = 0; count < 3; count++) expect(await keys.findKeyByHash(unknown)).toBeUndefined();
  expect(reads()).toBe(3);
  const again = vi.spyOn(stored, "findKeyByHash").mockImplementation(async (hash) => {
    return someKey(`key_${Buffer.from(hash).toString()}`);
  });
  again.mockClear();
  for (let number = 0; number <= 10_000; number++) await keys.findKeyByHash(Buffer.from(String(number)));
  await keys.findKeyByHash(Buffer.from("10000"));
  await keys.findKeyByHash(Buffer.from("1"));
  expect(again).toHaveBeenCalledTimes(10_001);
  await keys.findKeyByHash(Buffer.from("0"));
  expect(again).toHaveBeenCalledTimes(10_002);
});

test("a key that another process has revoked is refused from the next turn on", async () => {
  await using directory = await tempDir();
  const path = join(directory.path, "database");
  await using store = openStore(path);
  await using other = openStore(path);
  await store.accounts.createAccount({ id: "acc_1", name: "x", createdAt: 0 });
  await store.keys.createKey(someKey("key_1"), HASH);
  expect((await store.keys.findKeyByHash(HASH))?.revokedAt).toBeUndefined();
  await turn();
  await other.keys.revokeKey("key_1", 9);
  expect((await store.keys.findKeyByHash(HASH))?.revokedAt).toBe(9);
});
