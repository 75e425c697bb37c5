import type { KeyObject } from "node:crypto";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DESCRIPTION, KEYS } from "../../src/lib/release/paths.ts";
import { keyId } from "../../src/lib/release/statement.ts";
import { OLDEST_NEIGHBOUR } from "../../src/lib/version.ts";
import type { Architecture } from "./architectures.ts";
import { type Compression, writeDeb } from "./deb.ts";
import { INSTALL_DIR, type PackagedFile, packagedFiles } from "./layout.ts";
import { nodeRuntime } from "./node-runtime.ts";
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
    const staging = join(work, "files");
    await mkdir(staging);
    const files = [
      ...(await packagedFiles(await nodeRuntime(architecture), "dist")),
      ...(await generate(work, options)),
    ];
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
async function generate(folder: string, { version, trustedKeys }: PackageOptions): Promise<PackagedFile[]> {
  const description = join(folder, DESCRIPTION);
  await writeFile(description, JSON.stringify({ version, floor: OLDEST_NEIGHBOUR }));
  const keys = trustedKeys.map(async (key) => {
    const name = `${keyId(key)}.pem`;
    await writeFile(join(folder, name), key.export({ type: "spki", format: "pem" }));
    return { from: join(folder, name), to: `${INSTALL_DIR}/${KEYS}/${name}`, mode: 0o644 };
  });
  return [{ from: description, to: `${INSTALL_DIR}/${DESCRIPTION}`, mode: 0o644 }, ...(await Promise.all(keys))];
}
