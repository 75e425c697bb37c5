import type { KeyObject } from "node:crypto";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { constants, zstdCompress } from "node:zlib";
import { OLDEST_NEIGHBOUR } from "../../src/lib/version.ts";
import { MIN_PROTOCOL_VERSION } from "../../src/protocol/version.ts";
import type { Architecture } from "./architectures.ts";
import { type PackagedFile, programFiles } from "./layout.ts";
import { nodeRuntime } from "./node-runtime.ts";
import { programLayers } from "./program-layers.ts";
import { type PackedLayer, type ReleaseImage, writeReleaseLayout } from "./release-layout.ts";
import { sourceEpoch } from "./source-epoch.ts";

/** Levels of zstd: the best takes a minute; a quick one a second, and a fifth more space. */
const LEVELS = { small: 19, quick: 3 } as const;

export interface ReleaseOptions {
  readonly architectures: readonly Architecture[];
  readonly version: string;
  /** Folder for the layout, created if missing. */
  readonly folder: string;
  readonly compression: keyof typeof LEVELS;
  /** Private key, Ed25519. Without one the release is not signed, and no device takes it. */
  readonly key: KeyObject | undefined;
  /** Public keys of those who may sign what follows it. */
  readonly trustedKeys: readonly KeyObject[];
  /** Changes the files of the program; for releases that are broken on purpose. */
  readonly change?: (files: PackagedFile[]) => Promise<PackagedFile[]>;
}

/**
 * Writes a release of the agent as an OCI layout and returns its path. The same sources give the same bytes, the
 * signature included.
 */
export async function writeRelease(options: ReleaseOptions): Promise<string> {
  const { architectures, version, folder, key, trustedKeys: keys } = options;
  await mkdir(folder, { recursive: true });
  const work = await mkdtemp(join(folder, ".work-"));
  try {
    // One after the other: each takes some hundred megabytes of memory.
    const images: ReleaseImage[] = [];
    for (const architecture of architectures) images.push(await makeImage(architecture, options));
    await writeReleaseLayout(work, {
      version,
      floor: OLDEST_NEIGHBOUR,
      oldestProtocol: MIN_PROTOCOL_VERSION,
      signedAt: new Date(sourceEpoch() * 1000).toISOString(),
      images,
      keys,
      key,
    });
    const path = join(folder, `edge-agent_${version}.oci`);
    await rm(path, { recursive: true, force: true });
    await rename(work, path);
    return path;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function makeImage(
  architecture: Architecture,
  { compression, change = async (files) => files }: ReleaseOptions,
): Promise<ReleaseImage> {
  const files = await change(await programFiles(await nodeRuntime(architecture), "dist"));
  const params = { [constants.ZSTD_c_compressionLevel]: LEVELS[compression] };
  const layers: PackedLayer[] = [];
  for await (const { tar, diffId, unpackedBytes } of programLayers(files))
    layers.push({ archive: await promisify(zstdCompress)(tar, { params }), diffId, unpackedBytes });
  return { architecture: architecture.debian, layers };
}
