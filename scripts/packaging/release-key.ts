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
