import type { KeyObject } from "node:crypto";
import { mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { promisify } from "node:util";
import { constants, zstdCompress } from "node:zlib";
import { pack } from "tar-stream";
import { digestOf } from "../../src/lib/release/read-release.ts";
import { OLDEST_NEIGHBOUR } from "../../src/lib/version.ts";
import { MIN_PROTOCOL_VERSION } from "../../src/protocol/version.ts";
import type { Architecture } from "./architectures.ts";
import { type PackagedFile, programFiles } from "./layout.ts";
import { nodeRuntime } from "./node-runtime.ts";
import { type ReleaseImage, writeReleaseLayout } from "./release-layout.ts";
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
  /** Changes the files of the program; for releases that are broken on purpose. */
  readonly change?: (files: PackagedFile[]) => Promise<PackagedFile[]>;
}

/**
 * Writes a release of the agent as an OCI layout and returns its path. The same sources give the same bytes, the
 * signature included.
 */
export async function writeRelease(options: ReleaseOptions): Promise<string> {
  const { architectures, version, folder, key } = options;
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
  const contents = await Promise.all(
    files.map(async ({ from, to, mode }) => ({ to, mode, content: await readFile(from) })),
  );
  const tar = await toTar(contents);
  const params = { [constants.ZSTD_c_compressionLevel]: LEVELS[compression] };
  return {
    architecture: architecture.debian,
    layer: await promisify(zstdCompress)(tar, { params }),
    diffId: digestOf(tar),
    unpackedBytes: contents.reduce((sum, { content }) => sum + content.length, 0),
  };
}

async function toTar(
  files: readonly (Pick<PackagedFile, "to" | "mode"> & { readonly content: Buffer })[],
): Promise<Buffer> {
  const archive = pack();
  const written = buffer(archive);
  const mtime = new Date(sourceEpoch() * 1000);
  const folders = new Set(files.flatMap(({ to }) => (to.includes("/") ? [to.slice(0, to.lastIndexOf("/"))] : [])));
  for (const name of folders) archive.entry({ name, type: "directory", mode: 0o755, mtime });
  for (const { to, mode, content } of files) archive.entry({ name: to, mode, mtime }, content);
  archive.finalize();
  return await written;
}
