import { createPublicKey, type KeyObject } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { errorText } from "../../lib/error-text.ts";
import { KEYS } from "../../lib/release/paths.ts";
import { ReleaseError } from "../../lib/release/release-error.ts";

/**
 * Reads the public keys of those who may sign releases: the named files, or without any those that the build has put beside the
 * program. Devices decide by their own keys; these keep a wrong file from being handed out.
 *
 * @throws {ReleaseError} of code `no_keys`
 */
export function readReleaseKeys(files: readonly string[], folder = join(import.meta.dirname, KEYS)): KeyObject[] {
  const paths = files.length > 0 ? files : listKeys(folder);
  if (paths.length === 0)
    throw new ReleaseError(
      "no_keys",
      `there are no keys to check the release with in ${folder}: name the public key of its signer with --key`,
    );
  return paths.map(readKey);
}

function listKeys(folder: string): string[] {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return [];
  }
  return names
    .filter((name) => name.endsWith(".pem"))
    .toSorted()
    .map((name) => join(folder, name));
}

function readKey(path: string): KeyObject {
  try {
    const pem = readFileSync(path, "utf8");
    if (pem.includes("PRIVATE KEY"))
      throw new Error("it is a private key, which no service needs: openssl pkey -pubout");
    const key = createPublicKey(pem);
    if (key.asymmetricKeyType !== "ed25519") throw new Error("it is not an Ed25519 key");
    return key;
  } catch (error) {
    throw new ReleaseError("no_keys", `the key ${path} cannot be used: ${errorText(error)}`);
  }
}
