import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { AesSealer, type SealingKey } from "../../../../src/control-plane/sealing/aes-sealer.ts";
import { readKeyFile } from "../../../../src/control-plane/sealing/key-file.ts";
import { findPrunable, pruneKeys, rotateKeys } from "../../../../src/control-plane/sealing/rotate-keys.ts";
import { credentialsPurpose, variablePurpose } from "../../../../src/control-plane/sealing/sealer.ts";
import { openStore } from "../../../../src/control-plane/store/sqlite/open-store.ts";
import type { Store } from "../../../../src/control-plane/store/store.ts";
import type { SimType } from "../../../../src/protocol/assets/sim.ts";
import { MAX_VARIABLES } from "../../../../src/protocol/values/variables.ts";
import { ACCOUNT, openWithAccounts, register, someAsset } from "../../../contract/control-plane-store/harness.ts";
import { someAudit } from "../../../support/control-plane/people.ts";
import { someSealingKey } from "../../../support/control-plane/sealing-key.ts";
import { tempDir } from "../../../support/temp-dir.ts";

// As many as an asset may have: several batches.
const COUNT = MAX_VARIABLES;
const clock = { now: () => 2000, sleep: async () => {} };

let directory: Awaited<ReturnType<typeof tempDir>>;
let store: Store;
let path: string;
let uuid: string;
const first = someSealingKey();

beforeEach(async () => {
  directory = await tempDir();
  path = join(directory.path, "secrets.key");
  await writeFile(path, line(first), { mode: 0o600 });
  store = await openWithAccounts({ name: "SQLite", open: async () => openStore(":memory:") });
  await store.sealingKeys.register(first.id, 1000);
  ({ uuid } = await register(store, someAsset()));
  await setVariables(first, COUNT);
});
afterEach(async () => {
  await store[Symbol.asyncDispose]();
  await directory[Symbol.asyncDispose]();
});

const line = ({ id, bytes }: SealingKey) => `${id} ${Buffer.from(bytes).toString("hex")}\n`;
const rotate = (from: Partial<Parameters<typeof rotateKeys>[0]> = {}) => rotateKeys({ path, store, clock, ...from });
const keyIds = () => (readKeyFile(path) ?? []).map(({ id }) => id);

async function setVariables(key: SealingKey, count: number): Promise<void> {
  const sealer = new AesSealer(key);
  const entries = Array.from({ length: count }, (_, index) => {
    const name = `V${index}`;
    return [name, { isSecret: true, ...sealer.seal(Buffer.from(name), variablePurpose(uuid, name)) }] as const;
  });
  await store.assetSettings.changeVariables(uuid, new Map(entries), false, someAudit("asset_variables.changed"));
}

/** Expects that the keys of the file open each variable. */
async function expectReadable(): Promise<void> {
  const [key, ...others] = readKeyFile(path) ?? [];
  if (!key) throw new Error("no key");
  const sealer = new AesSealer(key, others);
  const variables = await store.assetSettings.readVariables(uuid);
  expect(variables).toHaveLength(COUNT);
  for (const variable of variables)
    expect(Buffer.from(sealer.open(variable, variablePurpose(uuid, variable.name))).toString()).toBe(variable.name);
}

/** The store, in which this call of a part of it fails, as if the process had ended there. */
function failingAt(part: "sealingKeys" | "assetSettings" | "simCredentials", method: string, call = 1): Store {
  let calls = 0;
  const proxied = (target: object, name: string): object =>
    new Proxy(target, {
      get(object, key) {
        const value: unknown = Reflect.get(object, key);
        if (key === part && name === "") return proxied(value as object, part);
        if (typeof value !== "function") return value;
        if (name !== part || key !== method) return value.bind(object) as unknown;
        return (...args: unknown[]) => {
          if (++calls === call) throw new Error("killed");
          return value.apply(object, args) as unknown;
        };
      },
    });
  return proxied(store, "") as Store;
}

async function setCredentials(type: SimType): Promise<string> {
  const purpose = credentialsPurpose(ACCOUNT, type);
  const sealed = new AesSealer(first).seal(Buffer.from("secret"), purpose);
  await store.simCredentials.setCredentials({ accountId: ACCOUNT, type, changedAtMs: 1, ...sealed });
  return purpose;
}

test.each([1, 2])("a rotation that ends at call %i of the accounts' credentials is finished", async (call) => {
  const purposes = [await setCredentials("prosim"), await setCredentials("supersim")];
  const failing = failingAt("simCredentials", "resealCredentials", call);
  await expect(rotate({ store: failing })).rejects.toThrow("killed");
  expect(await rotate()).toMatchObject({ hasResumed: true, variables: 0, credentials: 3 - call });
  const [key, ...others] = readKeyFile(path) ?? [];
  const sealer = new AesSealer(key!, others);
  for (const [index, stored] of (await store.simCredentials.listCredentials()).entries())
    expect(Buffer.from(sealer.open(stored, purposes[index]!)).toString()).toBe("secret");
  expect(await store.sealingKeys.listUsed()).toEqual([keyIds()[1]]);
});

test("a rotation seals the accounts' credentials at SIM operators", async () => {
  const purpose = await setCredentials("prosim");
  const { keyId, credentials } = await rotate();
  expect(credentials).toBe(1);
  const [stored] = await store.simCredentials.listCredentials();
  expect(stored?.keyId).toBe(keyId);
  const key = readKeyFile(path)?.find(({ id }) => id === keyId);
  expect(Buffer.from(new AesSealer(key!).open(stored!, purpose)).toString()).toBe("secret");
  expect(await store.sealingKeys.listUsed()).toEqual([keyId]);
});

test("a rotation seals everything with a new key; the next one does so again", async () => {
  const one = await rotate();
  expect(one).toMatchObject({ hasResumed: false, variables: COUNT, revisions: 0 });
  expect(keyIds()).toEqual([first.id, one.keyId]);
  expect(await store.sealingKeys.findCurrent()).toBe(one.keyId);
  expect(await store.sealingKeys.listUsed()).toEqual([one.keyId]);
  await expectReadable();
  const two = await rotate();
  expect(two).toMatchObject({ hasResumed: false, variables: COUNT });
  expect(keyIds()).toEqual([first.id, one.keyId, two.keyId]);
  await expectReadable();
});

test.each([
  ["sealingKeys", "add", 1],
  ["sealingKeys", "setCurrent", 1],
  ["assetSettings", "resealVariable", 1],
  ["assetSettings", "resealVariable", 60],
] as const)("a rotation that ends at %s.%s, call %i, is finished with the same key", async (part, method, call) => {
  await expect(rotate({ store: failingAt(part, method, call) })).rejects.toThrow("killed");
  const [, made] = keyIds();
  await expectReadable();
  expect(await rotate()).toMatchObject({ keyId: made, hasResumed: true });
  expect(keyIds()).toEqual([first.id, made]);
  expect(await store.sealingKeys.listUsed()).toEqual([made]);
  await expectReadable();
});

test("a value that a service seals with the former key meanwhile is sealed again", async () => {
  const late = { ...clock, sleep: async () => setVariables(first, 3) };
  const { keyId, variables } = await rotate({ clock: late });
  expect(variables).toBe(COUNT + 3);
  expect(await store.sealingKeys.listUsed()).toEqual([keyId]);
});

test("a value that cannot be opened ends the rotation and is named; nothing else is lost", async () => {
  const stranger = new AesSealer({ ...someSealingKey(), id: first.id });
  const damaged = { isSecret: true, ...stranger.seal(Buffer.from("x"), variablePurpose(uuid, "V7")) };
  const audit = someAudit("asset_variables.changed");
  await store.assetSettings.changeVariables(uuid, new Map([["V7", damaged]]), false, audit);
  await expect(rotate()).rejects.toThrow("cannot open variable V7");
  await setVariables(first, COUNT);
  expect(await rotate()).toMatchObject({ hasResumed: true });
  await expectReadable();
});

test("prune removes what seals nothing and is not current, and keeps what a service has used meanwhile", async () => {
  expect(await pruneKeys({ path, store, clock })).toEqual([]);
  const { keyId } = await rotate();
  expect(await findPrunable({ path, store })).toEqual([first.id]);
  const late = { ...clock, sleep: async () => setVariables(first, 1) };
  expect(await pruneKeys({ path, store, clock: late })).toEqual([]);
  expect(keyIds()).toEqual([first.id, keyId]);
  expect(await rotate()).toMatchObject({ keyId, hasResumed: true, variables: 1 });
  expect(await pruneKeys({ path, store, clock })).toEqual([first.id]);
  expect(keyIds()).toEqual([keyId]);
  expect((await store.sealingKeys.list()).map(({ id }) => id)).toEqual([keyId]);
  await expectReadable();
});

test("a second command at the same time is refused, and changes nothing", async () => {
  let refused: unknown;
  const during = { ...clock, sleep: async () => void (refused = await rotate().catch((error: unknown) => error)) };
  const { keyId } = await rotate({ clock: during });
  expect(String(refused)).toContain("another command changes");
  expect(keyIds()).toEqual([first.id, keyId]);
});
