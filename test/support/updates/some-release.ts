import { createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ReleaseContent, writeReleaseLayout } from "../../../scripts/packaging/release-layout.ts";
import { digestOf } from "../../../src/lib/release/read-release.ts";

/** A release on disk, and the key that has signed it. */
export interface SomeRelease {
  readonly version: string;
  /** The OCI layout. */
  readonly layout: string;
  /** File with the public key. */
  readonly keyFile: string;
  readonly publicKey: KeyObject;
  /** By architecture. */
  readonly layers: Readonly<Record<string, Uint8Array>>;
}

interface Options extends Partial<Omit<ReleaseContent, "images" | "version">> {
  /** Of each layer. */
  readonly layerBytes?: number;
}

/** Writes a release with layers of any bytes for two architectures into a folder, as `npm run package` lays it out. */
export async function someRelease(
  folder: string,
  version: string,
  { layerBytes = 300_000, ...content }: Options = {},
): Promise<SomeRelease> {
  const key = content.key ?? generateKeyPairSync("ed25519").privateKey;
  const publicKey = createPublicKey(key);
  const layers = Object.fromEntries(
    ["amd64", "arm64"].map((name, seed) => [name, bytesOf(layerBytes, seed + version.length)]),
  );
  const images = Object.entries(layers).map(([architecture, layer]) => {
    return { architecture, layers: [{ archive: layer, diffId: digestOf(layer), unpackedBytes: 2 * layerBytes }] };
  });
  const layout = join(folder, `edge-agent_${version}.oci`);
  await mkdir(layout, { recursive: true });
  const defaults = { floor: "0.9.0", oldestProtocol: 1, signedAt: "2026-11-28T00:00:00.000Z" };
  await writeReleaseLayout(layout, { ...defaults, key, keys: [publicKey], ...content, version, images });
  const keyFile = join(folder, `${version}.pem`);
  await writeFile(keyFile, publicKey.export({ type: "spki", format: "pem" }));
  return { version, layout, keyFile, publicKey, layers };
}

/** Bytes without a period that a piece could have. */
function bytesOf(length: number, seed: number): Uint8Array {
  const period = Uint8Array.from({ length: 99_991 }, (_value, index) => (index * 31 + (index >> 8) * 7 + seed) % 256);
  return Buffer.alloc(length, period);
}
