import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { SealingKey } from "../../../../src/control-plane/sealing/aes-sealer.ts";
import { KeyFileError, readKeyFile } from "../../../../src/control-plane/sealing/key-file.ts";
import { openSealer, type SealedStore } from "../../../../src/control-plane/sealing/open-sealer.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { openStore } from "../../../../src/control-plane/store/sqlite/open-store.ts";
import type { Store } from "../../../../src/control-plane/store/store.ts";
import { AesSealer } from "../../../../src/control-plane/sealing/aes-sealer.ts";
import type { Sealer } from "../../../../src/control-plane/sealing/sealer.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { someSealingKey } from "../../../support/control-plane/sealing-key.ts";
import { tempDir } from "../../../support/temp-dir.ts";

let directory: Awaited<ReturnType<typeof tempDir>>;
let store: Store;
beforeEach(async () => {
  directory = await tempDir();
  store = openStore(":memory:");
});
afterEach(async () => {
  await store[Symbol.asyncDispose]();
  await directory[Symbol.asyncDispose]();
});

const pathOf = (name: string) => join(directory.path, name);
/** The store as instances with PostgreSQL see it. */
const shared = (): SealedStore => ({ isShared: true, sealingKeys: store.sealingKeys });
const using = (...ids: string[]): SealedStore => ({
  isShared: false,
  sealingKeys: { ...bound(store.sealingKeys), listUsed: async () => ids },
});
const bound = (keys: Store["sealingKeys"]): Store["sealingKeys"] => ({
  findCurrent: () => keys.findCurrent(),
  register: (id, createdAtMs) => keys.register(id, createdAtMs),
  registerOrReplaceUnused: (id, createdAtMs) => keys.registerOrReplaceUnused(id, createdAtMs),
  listUsed: () => keys.listUsed(),
  list: () => keys.list(),
  add: (id, createdAtMs) => keys.add(id, createdAtMs),
  setCurrent: (current, to) => keys.setCurrent(current, to),
  removeUnused: (id) => keys.removeUnused(id),
  countUsed: () => keys.countUsed(),
});
const open = (name: string | undefined, from: SealedStore) =>
  openSealer(name === undefined ? undefined : pathOf(name), from, systemClock);
const reading = (sealer: Sealer, keyId: string, sealed: Uint8Array) => sealer.open({ keyId, sealed }, "p");
const sealedBy = async (name: string, from: SealedStore) =>
  (await (await open(name, from)).sealing())(Buffer.from("x"), "p").keyId;

async function writeKeys(name: string, ...keys: readonly SealingKey[]): Promise<void> {
  const lines = keys.map(({ id, bytes }) => `${id} ${Buffer.from(bytes).toString("hex")}\n`);
  await writeFile(pathOf(name), lines.join(""), { mode: 0o600 });
}

test("the first start makes and registers a key, with which later starts seal", async () => {
  const id = await sealedBy("a", store);
  expect(await store.sealingKeys.findCurrent()).toBe(id);
  expect(readKeyFile(pathOf("a"))?.[0].id).toBe(id);
  expect(await sealedBy("a", store)).toBe(id);
});

test("an instance with another file is refused, also while nothing is sealed", async () => {
  const id = await sealedBy("a", shared());
  await writeKeys("b", someSealingKey());
  await expect(open("b", shared())).rejects.toThrow(`${pathOf("b")} does not have the sealing key ${id}`);
  // It does not make a file either, which would not belong to the database.
  await expect(open("c", shared())).rejects.toThrow(KeyFileError);
  expect(readKeyFile(pathOf("c"))).toBeUndefined();
});

test("of instances with different files that start at a time, one is refused", async () => {
  await writeKeys("a", someSealingKey());
  await writeKeys("b", someSealingKey());
  const results = await Promise.allSettled([open("a", shared()), open("b", shared())]);
  expect(results.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
});

test("seals with the key that the database says, wherever it is in the file", async () => {
  const [first, second] = [someSealingKey(), someSealingKey()];
  await writeKeys("a", first);
  await open("a", shared());
  await writeKeys("b", second, first);
  expect(await sealedBy("b", shared())).toBe(first.id);
});

test("each key that something is sealed with must be in the file", async () => {
  const [one, other, lost] = [someSealingKey(), someSealingKey(), someSealingKey()];
  await writeKeys("a", one, other);
  await expect(open("a", using(one.id, other.id))).resolves.toBeDefined();
  await expect(open("a", using(one.id, other.id, lost.id))).rejects.toThrow(lost.id);
  await expect(open("missing", using(one.id))).rejects.toThrow(one.id);
  expect(readKeyFile(pathOf("missing"))).toBeUndefined();
});

test("without a file a database that has a key is refused", async () => {
  const none = await open(undefined, shared());
  await expect(none.sealing()).rejects.toThrow("secrets_key_file is not configured");
  const id = await sealedBy("a", shared());
  await expect(open(undefined, shared())).rejects.toThrow(`the database has the sealing key ${id}`);
  await expect(open(undefined, using("key_other"))).rejects.toThrow("key_other");
});

test("a database of one instance gets a new key for a lost one that nothing is sealed with", async () => {
  const lost = await sealedBy("a", store);
  const id = await sealedBy("b", store);
  expect(id).not.toBe(lost);
  expect(await store.sealingKeys.findCurrent()).toBe(id);
});

test("a sealer that is open follows a rotation: it opens at once, and seals with the new key within a second", async () => {
  const clock = new FakeClock();
  const [first, second] = [someSealingKey(), someSealingKey()];
  await writeKeys("a", first);
  const sealer = await openSealer(pathOf("a"), shared(), clock);
  expect((await sealer.sealing())(Buffer.from("x"), "p").keyId).toBe(first.id);
  await writeKeys("a", first, second);
  await store.sealingKeys.add(second.id, 1);
  expect(await store.sealingKeys.setCurrent(first.id, second.id)).toBe(true);
  const { sealed } = new AesSealer(second).seal(Buffer.from("new"), "p");
  expect(Buffer.from(reading(sealer, second.id, sealed)).toString()).toBe("new");
  await clock.advance(1000);
  expect((await sealer.sealing())(Buffer.from("x"), "p").keyId).toBe(second.id);
});

test("without the new current key in its file an open sealer refuses to seal, says so, and goes on when it has the key", async () => {
  const clock = new FakeClock();
  const [first, second] = [someSealingKey(), someSealingKey()];
  await writeKeys("a", first);
  const logged: string[] = [];
  const logger = { error: (_fields: object, message: string) => void logged.push(message) };
  const sealer = await openSealer(pathOf("a"), shared(), clock, logger);
  const { sealed } = (await sealer.sealing())(Buffer.from("old"), "p");
  await store.sealingKeys.add(second.id, 1);
  await store.sealingKeys.setCurrent(first.id, second.id);
  await clock.advance(1000);
  await expect(sealer.sealing()).rejects.toThrow("lacks the current one");
  expect(logged).toEqual([expect.stringContaining("copy the rotated file")]);
  expect(Buffer.from(reading(sealer, first.id, sealed)).toString()).toBe("old");
  await writeKeys("a", second);
  await clock.advance(1000);
  expect((await sealer.sealing())(Buffer.from("x"), "p").keyId).toBe(second.id);
  // What was read before stays, so that values of the older key are still opened.
  expect(Buffer.from(reading(sealer, first.id, sealed)).toString()).toBe("old");
});
