import type { KeyObject } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { digestOf, RELEASE_TYPES, UNPACKED_BYTES } from "../../src/lib/release/read-release.ts";
import { signStatement } from "../../src/lib/release/statement.ts";

const EMPTY = Buffer.from("{}");
const EMPTY_TYPE = "application/vnd.oci.empty.v1+json";

/** The program for one architecture. */
export interface ReleaseImage {
  /** OCI's and Debian's name. */
  readonly architecture: string;
  readonly layers: readonly PackedLayer[];
}

export interface PackedLayer {
  /** Tar, compressed with zstd. */
  readonly archive: Uint8Array;
  /** Digest of the tar. */
  readonly diffId: string;
  /** Bytes of its files. */
  readonly unpackedBytes: number;
}

export interface ReleaseContent {
  readonly version: string;
  readonly floor: string;
  readonly oldestProtocol: number;
  readonly signedAt: string;
  /** Public keys of those who may sign what follows it. */
  readonly keys: readonly KeyObject[];
  readonly images: readonly ReleaseImage[];
  /** Private key, Ed25519. Without one the release is not signed, and no device takes it. */
  readonly key: KeyObject | undefined;
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

/** Writes a release as an OCI layout into an empty folder. */
export async function writeReleaseLayout(folder: string, content: ReleaseContent): Promise<void> {
  const { version, images, key } = content;
  await mkdir(join(folder, "blobs/sha256"), { recursive: true });
  const manifests = [];
  for (const image of images) {
    const manifest = await writeImage(folder, image, version);
    manifests.push({ ...manifest, platform: { architecture: image.architecture, os: "linux" } });
  }
  const index = await writeJson(folder, RELEASE_TYPES.index, {
    schemaVersion: 2,
    mediaType: RELEASE_TYPES.index,
    manifests,
  });
  const named = { ...index, annotations: { "org.opencontainers.image.ref.name": version } };
  const signature = key === undefined ? [] : [await writeSignature(folder, index, { ...content, key })];
  await writeFile(join(folder, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  await writeFile(join(folder, "index.json"), JSON.stringify({ schemaVersion: 2, manifests: [named, ...signature] }));
}

async function writeImage(folder: string, image: ReleaseImage, version: string): Promise<Descriptor> {
  const { architecture, layers } = image;
  const config = await writeJson(folder, RELEASE_TYPES.config, {
    architecture,
    os: "linux",
    config: { Labels: { "org.opencontainers.image.version": version } },
    rootfs: { type: "layers", diff_ids: layers.map(({ diffId }) => diffId) },
  });
  const written = layers.map(async ({ archive, unpackedBytes }) => {
    const annotations = { [UNPACKED_BYTES]: String(unpackedBytes) };
    return Object.assign(await writeBlob(folder, RELEASE_TYPES.layer, archive), { annotations });
  });
  return await writeJson(folder, RELEASE_TYPES.manifest, {
    schemaVersion: 2,
    mediaType: RELEASE_TYPES.manifest,
    config,
    layers: await Promise.all(written),
  });
}

/** An artifact that refers to the index, so that registries list it among the referrers. */
async function writeSignature(
  folder: string,
  index: Descriptor,
  { version, floor, oldestProtocol, signedAt, keys, key }: ReleaseContent & { readonly key: KeyObject },
): Promise<Descriptor & { readonly artifactType: string }> {
  const envelope = signStatement({ version, index: index.digest, oldestProtocol, floor, signedAt, keys }, key);
  const manifest = await writeJson(folder, RELEASE_TYPES.manifest, {
    schemaVersion: 2,
    mediaType: RELEASE_TYPES.manifest,
    artifactType: RELEASE_TYPES.signature,
    config: await writeBlob(folder, EMPTY_TYPE, EMPTY),
    layers: [await writeBlob(folder, RELEASE_TYPES.envelope, envelope)],
    subject: index,
  });
  return { ...manifest, artifactType: RELEASE_TYPES.signature };
}

async function writeJson(folder: string, mediaType: string, document: object): Promise<Descriptor> {
  return await writeBlob(folder, mediaType, Buffer.from(JSON.stringify(document)));
}

async function writeBlob(folder: string, mediaType: string, content: Uint8Array): Promise<Descriptor> {
  const digest = digestOf(content);
  await writeFile(join(folder, "blobs", ...digest.split(":")), content);
  return { mediaType, digest, size: content.length };
}
