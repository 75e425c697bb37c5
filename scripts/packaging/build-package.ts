import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Architecture } from "./architectures.ts";
import { type Compression, writeDeb } from "./deb.ts";
import { sourceEpoch } from "./epoch.ts";
import { packagedFiles } from "./layout.ts";
import { nodeRuntime } from "./node-runtime.ts";

export interface PackageOptions {
  readonly architecture: Architecture;
  readonly version: string;
  /** Folder for the package, made if missing. */
  readonly folder: string;
  readonly compression: Compression;
}

/** Makes a package out of what is in dist/, and answers its path. */
export async function buildPackage({ architecture, version, folder, compression }: PackageOptions): Promise<string> {
  const files = await packagedFiles(await nodeRuntime(architecture), "dist");
  await mkdir(folder, { recursive: true });
  const work = await mkdtemp(join(folder, ".work-"));
  try {
    const staging = join(work, "files");
    await mkdir(staging);
    const name = `edge-agent_${version}_${architecture.debian}.deb`;
    const output = join(work, name);
    await writeDeb({ version, architecture, files, staging, output, epoch: sourceEpoch(process.env), compression });
    await rename(output, join(folder, name));
    return join(folder, name);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
