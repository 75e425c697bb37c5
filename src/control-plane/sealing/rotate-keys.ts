import type { Clock } from "../../lib/clock.ts";
import { tryLock } from "../../lib/instance-lock.ts";
import type { Store } from "../store/store.ts";
import type { SealingKey } from "./aes-sealer.ts";
import { KeyFileError, newKey, readKeyFile, writeKeyFile } from "./key-file.ts";
import { reseal, type Resealed } from "./reseal.ts";

/** Services ask for the current key each second; what one has sealed just before that may be stored a little later. */
const SETTLE_MS = 5000;

export interface KeyRotationOptions {
  readonly path: string;
  readonly store: Pick<Store, "sealingKeys" | "assetSettings" | "fleets" | "simCredentials" | "alertSettings">;
  readonly clock: Pick<Clock, "now" | "sleep">;
}

export interface Rotation extends Resealed {
  readonly keyId: string;
  /** Whether it has finished an earlier rotation, and not begun one. */
  readonly hasResumed: boolean;
}

/**
 * Makes a new key the current one and seals everything with it, while services run. It may be ended at any point: the next call
 * finishes it with the same key. Throws `KeyFileError`, and `UnsealError` for a value that cannot be opened.
 */
export async function rotateKeys({ path, store, clock }: KeyRotationOptions): Promise<Rotation> {
  using _lock = lockKeyFile(path);
  const { sealingKeys } = store;
  const keys = readKeys(path);
  const from = await sealingKeys.findCurrent();
  if (from === undefined) throw new KeyFileError("the database has no key yet: start edge-control, which makes one");
  const current = keys.find(({ id }) => id === from);
  if (!current) throw new KeyFileError(`${path} does not have the current sealing key ${from} of the database`);
  const isUnfinished = (await sealingKeys.listUsed()).some((id) => id !== from) && keys.at(-1) === current;
  const pending = isUnfinished ? current : await findPending(store, keys, from);
  const key = pending ?? newKey();
  if (!pending) writeKeyFile(path, [...keys, key]);
  if (key.id !== from) {
    await sealingKeys.add(key.id, clock.now());
    if (!(await sealingKeys.setCurrent(from, key.id)))
      throw new KeyFileError("another rotation has made its key the current one: run it again with that key file");
  }
  const first = await reseal(store, key, keys);
  await clock.sleep(SETTLE_MS);
  const second = await reseal(store, key, keys);
  return {
    keyId: key.id,
    hasResumed: pending !== undefined,
    variables: first.variables + second.variables,
    revisions: first.revisions + second.revisions,
    credentials: first.credentials + second.credentials,
    channels: first.channels + second.channels,
  };
}

/** Removes the keys from the file and the database that are not current and seal nothing. Returns their ids. */
export async function pruneKeys({ path, store, clock }: KeyRotationOptions): Promise<readonly string[]> {
  using _lock = lockKeyFile(path);
  const { sealingKeys } = store;
  const prunable = await findPrunable({ path, store });
  if (prunable.length === 0) return [];
  // A service may be about to store what it has sealed with the key that was current until now.
  await clock.sleep(SETTLE_MS);
  const removed = new Set(await findPrunable({ path, store }));
  writeKeyFile(
    path,
    readKeys(path).filter(({ id }) => !removed.has(id)),
  );
  for (const id of removed) await sealingKeys.removeUnused(id);
  return [...removed];
}

/** Returns the ids of the keys in the file that are not current and seal nothing. */
export async function findPrunable({ path, store }: Omit<KeyRotationOptions, "clock">): Promise<readonly string[]> {
  const current = await store.sealingKeys.findCurrent();
  if (current === undefined) return [];
  const needed = new Set([current, ...(await store.sealingKeys.listUsed())]);
  const keys = readKeys(path);
  if (!keys.some(({ id }) => id === current))
    throw new KeyFileError(`${path} does not have the current sealing key ${current} of the database`);
  return keys.map(({ id }) => id).filter((id) => !needed.has(id));
}

/** The new key of a rotation that was ended before the key became current: the last of the file, which seals nothing yet. */
async function findPending(
  { sealingKeys }: KeyRotationOptions["store"],
  keys: readonly SealingKey[],
  currentId: string,
): Promise<SealingKey | undefined> {
  const last = keys.at(-1);
  if (!last || last.id === currentId || (await sealingKeys.listUsed()).includes(last.id)) return undefined;
  const registered = await sealingKeys.list();
  const createdAt = new Map(registered.map(({ id, createdAtMs }) => [id, createdAtMs]));
  // An older key at the end of a file that was put together by hand was current once: it is not a new one.
  const lastAt = createdAt.get(last.id);
  return lastAt === undefined || lastAt > (createdAt.get(currentId) ?? 0) ? last : undefined;
}

function readKeys(path: string): readonly SealingKey[] {
  const keys = readKeyFile(path);
  if (!keys) throw new KeyFileError(`there is no file of sealing keys ${path}`);
  return keys;
}

function lockKeyFile(path: string): Disposable {
  const lock = tryLock(`${path}.lock`);
  if (!lock) throw new KeyFileError(`another command changes ${path}: wait until it has ended`);
  return lock;
}
