import type { KeyObject } from "node:crypto";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type LayerRecord, toLayersFile } from "../../src/lib/release/held-layers.ts";
import { DESCRIPTION, KEYS, LAYERS_FILE } from "../../src/lib/release/paths.ts";
import { keyId } from "../../src/lib/release/statement.ts";
import { OLDEST_NEIGHBOUR } from "../../src/lib/version.ts";
import type { Architecture } from "./architectures.ts";
import { type Compression, writeDeb } from "./deb.ts";
import { INSTALL_DIR, type PackagedFile, packagedFiles, programFiles } from "./layout.ts";
import { nodeRuntime } from "./node-runtime.ts";
import { programLayers } from "./program-layers.ts";
import { sourceEpoch } from "./source-epoch.ts";

export interface PackageOptions {
  readonly architecture: Architecture;
  readonly version: string;
  /** Folder for the package, created if missing. */
  readonly folder: string;
  readonly compression: Compression;
  /** Public keys of those who may sign releases for the device. */
  readonly trustedKeys: readonly KeyObject[];
}

/** Builds a package from dist/ and returns its path. */
export async function buildPackage(options: PackageOptions): Promise<string> {
  const { architecture, version, folder, compression } = options;
  await mkdir(folder, { recursive: true });
  const work = await mkdtemp(join(folder, ".work-"));
  try {
    const runtime = await nodeRuntime(architecture);
    const staging = join(work, "files");
    await mkdir(staging);
    const files = [...(await packagedFiles(runtime, "dist")), ...(await generate(work, runtime, options))];
    const name = `edge-agent_${version}_${architecture.debian}.deb`;
    const output = join(work, name);
    await writeDeb({ version, architecture, files, staging, output, epoch: sourceEpoch(), compression });
    await rename(output, join(folder, name));
    return join(folder, name);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Writes the files of a package that are no files of the sources. */
async function generate(
  folder: string,
  runtime: string,
  { version, trustedKeys }: PackageOptions,
): Promise<PackagedFile[]> {
  await writeFile(join(folder, DESCRIPTION), JSON.stringify({ version, floor: OLDEST_NEIGHBOUR }));
  const layers: LayerRecord[] = [];
  for await (const { diffId, files } of programLayers(await programFiles(runtime, "dist")))
    layers.push({ diffId, files });
  await writeFile(join(folder, LAYERS_FILE), toLayersFile(layers));
  const keys = trustedKeys.map(async (key) => {
    const name = `${keyId(key)}.pem`;
    await writeFile(join(folder, name), key.export({ type: "spki", format: "pem" }));
    return { from: join(folder, name), to: `${INSTALL_DIR}/${KEYS}/${name}`, mode: 0o644 };
  });
  const described = [DESCRIPTION, LAYERS_FILE].map((name) => {
    return { from: join(folder, name), to: `${INSTALL_DIR}/${name}`, mode: 0o644 };
  });
  return [...described, ...(await Promise.all(keys))];
}
