import { randomBytes } from "node:crypto";
import { open, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { AesSealer, type SealingKey } from "./aes-sealer.ts";
import type { Store } from "../store/store.ts";

const KEY_BYTES = 32;
const LINE = /^(key_[0-9a-f]{24}) ([0-9a-f]{64})$/;

/** The key file cannot be used as it is. */
export class KeyFileError extends Error {
  override readonly name = "KeyFileError";
}

/**
 * Opens the sealer with the keys of a file, one a line, the first of which seals. Makes the file where there is none and nothing
 * is sealed yet. Throws `KeyFileError` where the file is missing, damaged, or lacks a key that something is sealed with.
 */
export async function openKeyFile(path: string, store: Pick<Store, "assetSettings" | "fleets">): Promise<AesSealer> {
  const found = await readKeys(path);
  const [key = newKey(), ...older] = found ?? [];
  const known = new Set([key, ...older].map(({ id }) => id));
  const sealed = [
    ...(await store.assetSettings.listVariablesNotSealedBy(key.id, 1)),
    ...(await store.fleets.listRevisionsNotSealedBy(key.id, 1)),
  ];
  const missing = sealed.find(({ keyId }) => !known.has(keyId));
  if (missing) {
    throw new KeyFileError(
      `${path} does not have the key ${missing.keyId}, with which variables or revisions in the database are sealed: ` +
        "put the file that belongs to the database in its place",
    );
  }
  if (!found) await writeKey(path, key);
  return new AesSealer(key, older);
}

async function readKeys(path: string): Promise<readonly SealingKey[] | undefined> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  return text
    .trim()
    .split("\n")
    .map((line) => {
      const [, id, bytes] = LINE.exec(line) ?? [];
      if (id === undefined || bytes === undefined) throw new KeyFileError(`${path} is not a file of sealing keys`);
      return { id, bytes: Buffer.from(bytes, "hex") };
    });
}

function newKey(): SealingKey {
  return { id: `key_${randomBytes(12).toString("hex")}`, bytes: randomBytes(KEY_BYTES) };
}

/** On disk before anything is sealed with it. Fails if another process has made the file meanwhile. */
async function writeKey(path: string, { id, bytes }: SealingKey): Promise<void> {
  await using file = await open(path, "wx", 0o600);
  await file.writeFile(`${id} ${Buffer.from(bytes).toString("hex")}\n`);
  await file.sync();
  await using directory = await open(dirname(path), "r");
  await directory.sync();
}
