import { randomBytes } from "node:crypto";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { AesSealer } from "../../../../src/control-plane/sealing/aes-sealer.ts";
import { ACTIVE_AFTER_MS, BusKeys, ROTATE_AFTER_MS } from "../../../../src/control-plane/sealing/bus-keys.ts";
import { NoSealer } from "../../../../src/control-plane/sealing/open-sealer.ts";
import type { Sealer } from "../../../../src/control-plane/sealing/sealer.ts";
import { openStore } from "../../../../src/control-plane/store/sqlite/open-store.ts";
import type { Store } from "../../../../src/control-plane/store/store.ts";
import { someSealingKey } from "../../../support/control-plane/sealing-key.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { captureLog } from "../../../support/link/log-capture.ts";

let store: Store;
let clock: FakeClock;
let lines: Record<string, unknown>[];
const fileKey = someSealingKey();

beforeEach(async () => {
  store = openStore(":memory:");
  onTestFinished(() => store[Symbol.asyncDispose]());
  clock = new FakeClock();
});

async function open(sealer: Sealer = new AesSealer(fileKey)): Promise<BusKeys> {
  const log = captureLog();
  lines = log.lines;
  const instances = { ...store.instances, readTime: async () => ({ nowMs: clock.now(), shiftMs: 0, version: 0 }) };
  const keys = await BusKeys.open({
    store: { busKeys: store.busKeys, sealingKeys: store.sealingKeys, instances },
    sealer,
    clock,
    logger: log.logger,
  });
  onTestFinished(() => keys[Symbol.dispose]());
  return keys;
}

const secretsOf = (...instances: readonly BusKeys[]): string[] =>
  instances.map(({ current }) => Buffer.from(current?.secret ?? "").toString("hex"));

test("the first instance makes a key, which the others share; the database has it sealed", async () => {
  await store.sealingKeys.register(fileKey.id, 1);
  const [first, second] = [await open(), await open()];
  const [secret = "", other] = secretsOf(first, second);
  expect(secret).toHaveLength(64);
  expect(other).toBe(secret);
  const stored = await store.busKeys.list();
  expect(stored).toMatchObject([{ keyId: fileKey.id }]);
  expect(Buffer.from(stored[0]?.sealed ?? "").toString("hex")).not.toContain(secret);
});

test("without a key file the database has the key itself, until there is one", async () => {
  const first = await open(new NoSealer());
  const second = await open(new NoSealer());
  expect(first.current).toEqual(second.current);
  expect(first.current).toBeDefined();
  await store.sealingKeys.register(fileKey.id, 1);
  await clock.advance(1);
  const third = await open();
  expect((await store.busKeys.list()).map(({ keyId }) => keyId)).toEqual([fileKey.id, undefined]);
  // Those that run know it before it seals.
  expect(third.current).toEqual(first.current);
});

test("after a day another key takes over once all instances have read it, and old ones are removed", async () => {
  const aged = (digit: string, ageMs: number) => {
    return { id: digit.repeat(16), keyId: undefined, sealed: randomBytes(32), createdAtMs: clock.now() - ageMs };
  };
  await store.busKeys.add(aged("a", ROTATE_AFTER_MS - 60_000));
  await store.busKeys.add(aged("b", 2 * ROTATE_AFTER_MS));
  const [first, second] = [await open(new NoSealer()), await open(new NoSealer())];
  const [before] = secretsOf(first);
  await clock.advance(50_000);
  expect([await store.busKeys.list(), secretsOf(second)]).toMatchObject([[{}, {}], [before]]);
  await clock.advance(20_000);
  expect(secretsOf(first, second)).toEqual([before, before]);
  const keys = (await store.busKeys.list()).map(({ id }) => id);
  expect(keys.at(-1)).toBe("a".repeat(16));
  await clock.advance(ACTIVE_AFTER_MS - 10_000);
  expect([second.find(keys[0] ?? ""), second.find("b".repeat(16))]).toEqual([expect.anything(), undefined]);
  await clock.advance(20_000);
  const [changed, same] = secretsOf(first, second);
  expect(changed).toBe(same);
  expect(changed).not.toBe(before);
});

test("another current key of the key file brings another key of the bus", async () => {
  await store.sealingKeys.register(fileKey.id, 1);
  const next = someSealingKey();
  const both = new AesSealer(next, [fileKey]);
  const first = await open();
  const [before] = secretsOf(first);
  await store.sealingKeys.add(next.id, 2);
  await store.sealingKeys.setCurrent(fileKey.id, next.id);
  await clock.advance(1);
  const second = await open(both);
  expect((await store.busKeys.list()).map(({ keyId }) => keyId)).toContain(next.id);
  expect(secretsOf(second)).toEqual([before]);
  // An instance whose file is not copied yet.
  await clock.advance(60_000);
  expect(secretsOf(first)).toEqual([before]);
  expect(secretsOf(second)).not.toEqual([before]);
});

test("a key that cannot be opened is said once, and does not end the instance", async () => {
  const keys = await open(new NoSealer());
  const { current } = keys;
  await clock.advance(1_000);
  await store.busKeys.add({ id: "00".repeat(8), keyId: "key_lost", sealed: randomBytes(61), createdAtMs: clock.now() });
  await store.busKeys.add({ id: "01".repeat(8), keyId: "key_lost", sealed: randomBytes(61), createdAtMs: 1 });
  vi.spyOn(store.sealingKeys, "findCurrent").mockResolvedValue("key_lost");
  await clock.advance(60_000);
  expect(keys.current).toEqual(current);
  const said = lines.filter(({ level }) => level === "error").map(({ msg }) => msg);
  expect(said).toEqual([expect.stringMatching(/^a key of the bus cannot be opened/)]);
});

test("a key that another instance has just made is found by its first message", async () => {
  const first = await open(new NoSealer());
  const made = { id: "11".repeat(8), keyId: undefined, sealed: randomBytes(32), createdAtMs: clock.now() };
  await store.busKeys.add(made);
  expect(first.find(made.id)).toBeUndefined();
  await clock.advance(1_000);
  expect(first.find(made.id)).toBeUndefined();
  await new Promise(setImmediate);
  expect(Buffer.from(first.find(made.id)?.secret ?? "").equals(made.sealed)).toBe(true);
});

test("what cannot be read is read later", async () => {
  const keys = await open(new NoSealer());
  using broken = vi.spyOn(store.busKeys, "list").mockRejectedValue(new Error("the store cannot be reached"));
  await clock.advance(30_000);
  expect(keys.current).toBeDefined();
  expect(lines.map(({ msg }) => msg)).toContain("cannot read the keys of the bus; those that are known stay in use");
  broken.mockRestore();
  await clock.advance(20_000);
  expect(keys.current).toBeDefined();
});
