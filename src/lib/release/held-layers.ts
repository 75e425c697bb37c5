import { createHash } from "node:crypto";
import { createReadStream, lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Fields } from "./fields.ts";
import { LAYERS_FILE } from "./paths.ts";
import { type ReleaseLayer, unpackedBytesOf } from "./read-release.ts";
import type { ReleasesState, VersionFolders } from "./releases-state.ts";
import { isVersion } from "../../protocol/agents/version-order.ts";

const MAX_RECORD_BYTES = 128 * 1024;

/** A file of a layer. */
export interface LayerFile {
  /** Below the version's folder. */
  readonly path: string;
  /** Digest of its content. */
  readonly digest: string;
}

/** What a version consists of, as `layers.json` in its folder says. */
export interface LayerRecord {
  readonly diffId: string;
  readonly files: readonly LayerFile[];
}

/** A layer that a version on this device has. */
export interface HeldLayer extends LayerRecord {
  /** The version's. */
  readonly folder: string;
}

/**
 * Folders of the versions that stay when another is installed, and so can give it layers: those of releases first, which it shares a
 * file system with.
 */
export function stayingVersions(
  { packageFolder, releasesFolder }: VersionFolders,
  { current, pin }: Pick<ReleasesState, "current" | "pin">,
): string[] {
  const releases = [current, pin].filter((version) => version !== undefined && isVersion(version));
  return [...releases.map((version) => join(releasesFolder, version ?? "")), packageFolder];
}

export function toLayersFile(layers: readonly LayerRecord[]): string {
  return JSON.stringify({ layers });
}

/**
 * Finds a layer on this device, so that it need not be fetched or unpacked again. Only root can write these folders; the contents are
 * checked all the same, since flash forgets. Takes about a second for 100 MB.
 *
 * @returns `undefined` if no version has it, or not as it was
 */
async function findHeldLayer(diffId: string, folders: readonly string[]): Promise<HeldLayer | undefined> {
  for (const folder of folders) {
    const layer = readRecord(folder).find((other) => other.diffId === diffId);
    if (layer && (await isIntact(folder, layer))) return { ...layer, folder };
  }
  return undefined;
}

/** Free space that an installation leaves to others, in bytes. */
export const MIN_FREE_BYTES = 64 * 1024 * 1024;

/** A layer of a release, and where it comes from. */
export interface ChosenLayer {
  readonly layer: ReleaseLayer;
  /** A version that has it; without one it is fetched and unpacked. */
  readonly held: HeldLayer | undefined;
}

export async function chooseLayers(
  layers: readonly ReleaseLayer[],
  folders: readonly string[],
): Promise<ChosenLayer[]> {
  return await Promise.all(layers.map(async (layer) => ({ layer, held: await findHeldLayer(layer.diffId, folders) })));
}

/** Returns the bytes that installing layers writes: what another release has is shared with it. */
export function writtenBytes(layers: readonly ChosenLayer[], packageFolder: string): number {
  return unpackedBytesOf(
    layers.flatMap(({ layer, held }) => (held === undefined || held.folder === packageFolder ? [layer] : [])),
  );
}

/** A version of which nothing is known, as one without a file that says it, has nothing that could be taken. */
function readRecord(folder: string): LayerRecord[] {
  try {
    const path = join(folder, LAYERS_FILE);
    const fields = Fields.parse(path, readFileSync(path).subarray(0, MAX_RECORD_BYTES), "file");
    return fields.list("layers").map((layer) => ({
      diffId: layer.digest("diffId"),
      files: layer.list("files").map((file) => ({ path: file.text("path"), digest: file.digest("digest") })),
    }));
  } catch {
    return [];
  }
}

async function isIntact(folder: string, { files }: LayerRecord): Promise<boolean> {
  try {
    for (const { path, digest } of files) {
      const hash = createHash("sha256");
      if (!lstatSync(join(folder, path)).isFile()) return false;
      for await (const chunk of createReadStream(join(folder, path))) hash.update(chunk as Uint8Array);
      if (`sha256:${hash.digest("hex")}` !== digest) return false;
    }
    return true;
  } catch {
    // A file is gone, or cannot be read.
    return false;
  }
}
