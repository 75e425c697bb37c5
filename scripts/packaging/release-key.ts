import { createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** Public keys of those who may sign releases, for every package that is built of these sources. */
const FOLDER = "packaging/release-keys";

/** Reads the private key that signs releases. @throws {Error} if it is not an Ed25519 key */
export async function readSigningKey(path: string): Promise<KeyObject> {
  const key = createPrivateKey(await readFile(path));
  if (key.asymmetricKeyType === "ed25519") return key;
  throw new Error(`${path} is not an Ed25519 key: openssl genpkey -algorithm ed25519 -out KEY.pem makes one`);
}

/** Returns the keys that packages trust: those of the sources, and that of the signer. */
export async function trustedKeys(signer: KeyObject | undefined): Promise<KeyObject[]> {
  const names = (await readdir(FOLDER).catch(() => [])).filter((name) => name.endsWith(".pem")).toSorted();
  const kept = await Promise.all(names.map(async (name) => createPublicKey(await readFile(join(FOLDER, name)))));
  const all = signer ? [...kept, createPublicKey(signer)] : kept;
  return all.filter((key, index) => all.findIndex((other) => other.equals(key)) === index);
}

/** Returns a line that warns of packages without a key, which decide for good how their devices are updated. */
export function warnOfNoKey(keys: readonly KeyObject[]): string | undefined {
  if (keys.length > 0) return undefined;
  return (
    "WARNING: these packages trust no key: their devices take no release of the agent, and each update needs a new package " +
    'on the device itself. Make a key first: docs/agent-updates.md, "Making and signing a release".'
  );
}
