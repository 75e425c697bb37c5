import type { Clock } from "../../lib/clock.ts";
import type { Store } from "../store/store.ts";
import { FollowingSealer, type KeyLogger } from "./following-sealer.ts";
import { createKeyFile, KeyFileError, readKeyFile } from "./key-file.ts";
import type { Sealer } from "./sealer.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";

export type SealedStore = Pick<Store, "isShared" | "sealingKeys">;

/**
 * Opens the sealer with the keys of a file. The database says which of them seals, so that all instances use the same one; the
 * first key is registered at the first start, with a new file if there is none. The sealer follows a rotation.
 *
 * @param path `undefined`: there is no file, and nothing can be sealed
 * @throws {KeyFileError} if the file cannot be used, or lacks a key of the database
 */
export async function openSealer(
  path: string | undefined,
  store: SealedStore,
  clock: Clock,
  logger?: KeyLogger,
): Promise<Sealer> {
  const { sealingKeys } = store;
  const used = await sealingKeys.listUsed();
  const current = await sealingKeys.findCurrent();
  const [needed = current] = used;
  if (path === undefined) {
    if (needed === undefined) return new NoSealer();
    throw new KeyFileError(
      `the database has the sealing key ${needed}, but there is no key file: set secrets_key_file to the file that has this key`,
    );
  }
  const found = readKeyFile(path);
  // A database without other instances may have lost a key that nothing is sealed with: a backup leaves the file out.
  const isReplaceable = used.length === 0 && !store.isShared;
  if (!found && needed !== undefined && !isReplaceable) throw missing(path, needed);
  const keys = found ?? (await createKeyFile(path));
  const known = new Map(keys.map((key) => [key.id, key]));
  const unknown = used.find((id) => !known.has(id));
  if (unknown !== undefined) throw missing(path, unknown);
  const [first] = keys;
  const register =
    isReplaceable && (current === undefined || !known.has(current)) ? "registerOrReplaceUnused" : "register";
  const id = await sealingKeys[register](first.id, clock.now());
  if (!known.has(id)) throw missing(path, id);
  return new FollowingSealer({ path, keys, sealingKeys, clock, logger });
}

function missing(path: string, id: string): KeyFileError {
  return new KeyFileError(
    `${path} does not have the sealing key ${id} of the database: put the file that belongs to the database in its place, ` +
      "the same one for every instance",
  );
}

/** For a service without a key file. Nothing can be sealed, so that nothing was. */
export class NoSealer implements Sealer {
  async sealing(): Promise<never> {
    return this.open();
  }

  open(): never {
    throw new EdgeError("ServiceUnavailable", "The service has no file with keys: secrets_key_file is not configured.");
  }
}
