import { createPublicKey, type KeyObject } from "node:crypto";
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { errorText } from "../error-text.ts";
import { KEYS } from "./paths.ts";
import { ReleaseError } from "./release-error.ts";
import { readReleases, type VersionFolders } from "./releases-state.ts";

const GROUP_OR_OTHERS_WRITE = 0o022;

/**
 * Returns the folder with the keys that count: of the version that was confirmed last, so that a key can be replaced without
 * the package; of the package if there is none.
 */
export function keysFolder({ packageFolder, releasesFolder }: VersionFolders): string {
  const { current } = readReleases(releasesFolder);
  return join(current === undefined ? packageFolder : join(releasesFolder, current), KEYS);
}

/**
 * Reads the public keys of those who may sign releases. A list that cannot be read as a whole is none.
 *
 * @param owner user that alone may write it
 * @throws {ReleaseError} of code `no_keys`
 */
export function readTrustedKeys(folder: string, owner: number): KeyObject[] {
  let names: string[];
  try {
    requireOwned(folder, owner);
    names = readdirSync(folder).filter((name) => name.endsWith(".pem"));
  } catch (error) {
    throw new ReleaseError("no_keys", `the keys that this device trusts cannot be read: ${errorText(error)}`);
  }
  if (names.length === 0)
    throw new ReleaseError("no_keys", `this device trusts no key, so it takes no release: ${folder}`);
  return names.toSorted().map((name) => {
    try {
      requireOwned(join(folder, name), owner);
      const key = createPublicKey(readFileSync(join(folder, name)));
      if (key.asymmetricKeyType !== "ed25519") throw new Error("it is not an Ed25519 key");
      return key;
    } catch (error) {
      throw new ReleaseError("no_keys", `the key ${name} cannot be used: ${errorText(error)}`);
    }
  });
}

function requireOwned(path: string, owner: number): void {
  const stats = lstatSync(path);
  if (stats.isSymbolicLink()) throw new Error(`${path} is a link`);
  if (stats.uid !== owner || (stats.mode & GROUP_OR_OTHERS_WRITE) !== 0)
    throw new Error(`others than root can write ${path}`);
}
