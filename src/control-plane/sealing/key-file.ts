import { randomBytes, randomUUID } from "node:crypto";
import { realpathSync, statSync } from "node:fs";
import { link, open, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { errorText } from "../../lib/error-text.ts";
import { ExposedFileError, readPrivateText } from "../../lib/private-text.ts";
import { writeAtomically } from "../../lib/write-atomically.ts";
import type { SealingKey } from "./aes-sealer.ts";

const KEY_BYTES = 32;
const LINE = /^(key_[0-9a-f]{24}) ([0-9a-f]{64})$/;

/** The key file cannot be used as it is. The message says why and what to do. */
export class KeyFileError extends Error {
  override readonly name = "KeyFileError";
}

/**
 * Returns the keys of a file, one a line; `undefined` if there is no file. Throws `KeyFileError` if it cannot be read, is damaged,
 * or if other users can access it.
 */
export function readKeyFile(path: string): readonly [SealingKey, ...SealingKey[]] | undefined {
  const text = readKeys(path);
  if (text === undefined) return undefined;
  const [first, ...others] = text
    .trim()
    .split("\n")
    .map((line) => parseLine(path, line));
  const keys = first && ([first, ...others] as const);
  if (!keys || new Set(keys.map(({ id }) => id)).size < keys.length) throw notKeys(path);
  return [...keys];
}

/**
 * Creates a file with a new key, and returns its keys: those of another process that has created it meanwhile. It is on disk, and
 * whole, before anything can be sealed with it. Throws `KeyFileError` if it cannot be created.
 */
export async function createKeyFile(path: string): Promise<readonly [SealingKey, ...SealingKey[]]> {
  const temporary = `${path}.${randomUUID()}.tmp`;
  try {
    await writePrivate(temporary, format(newKey()));
    // Unlike a rename, a link does not replace what is there.
    await link(temporary, path).catch((error: unknown) => {
      if (!hasCode(error, "EEXIST")) throw error;
    });
    await rm(temporary);
    await using directory = await open(dirname(path), "r");
    await directory.sync();
  } catch (error) {
    // The first error is the one to report.
    await rm(temporary, { force: true }).catch(() => {});
    throw new KeyFileError(`cannot create the file of sealing keys ${path}: ${errorText(error)}`);
  }
  const keys = readKeyFile(path);
  if (!keys) throw new KeyFileError(`${path} was removed while it was created: start again`);
  return keys;
}

/**
 * Replaces the keys of an existing file, which keeps its owner: a command may run as another user than the service. On disk when
 * this returns. Throws `KeyFileError` if it cannot be written.
 */
export function writeKeyFile(path: string, keys: readonly SealingKey[]): void {
  try {
    // The file itself, not a link to it.
    const target = realpathSync(path);
    const { uid, gid } = statSync(target);
    writeAtomically(target, keys.map(format).join(""), { mode: 0o600, owner: { uid, gid } });
  } catch (error) {
    throw new KeyFileError(`cannot write the file of sealing keys ${path}: ${errorText(error)}`);
  }
}

function readKeys(path: string): string | undefined {
  try {
    return readPrivateText(path);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    if (error instanceof ExposedFileError)
      throw new KeyFileError(`other users can access the sealing keys in ${path}: run chmod 600 ${path}`);
    throw new KeyFileError(`cannot read the sealing keys in ${path}: ${errorText(error)}`);
  }
}

function parseLine(path: string, line: string): SealingKey {
  const [, id, bytes] = LINE.exec(line) ?? [];
  if (id === undefined || bytes === undefined) throw notKeys(path);
  return { id, bytes: Buffer.from(bytes, "hex") };
}

function notKeys(path: string): KeyFileError {
  return new KeyFileError(
    `${path} is not a file of sealing keys: put the file that belongs to the database in its place`,
  );
}

/** Returns a new random key. */
export function newKey(): SealingKey {
  return { id: `key_${randomBytes(12).toString("hex")}`, bytes: randomBytes(KEY_BYTES) };
}

function format({ id, bytes }: SealingKey): string {
  return `${id} ${Buffer.from(bytes).toString("hex")}\n`;
}

async function writePrivate(path: string, text: string): Promise<void> {
  await using file = await open(path, "wx", 0o600);
  await file.writeFile(text);
  await file.sync();
}

function hasCode(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException | undefined)?.code === code;
}
