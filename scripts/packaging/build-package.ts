import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Architecture } from "./architectures.ts";
import { type Compression, writeDeb } from "./deb.ts";
import { packagedFiles } from "./layout.ts";
import { nodeRuntime } from "./node-runtime.ts";

export interface PackageOptions {
  readonly architecture: Architecture;
  readonly version: string;
  /** Folder for the package, created if missing. */
  readonly folder: string;
  readonly compression: Compression;
}

/** Builds a package from dist/ and returns its path. */
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

/** Returns the date of all packaged files in Unix seconds: `SOURCE_DATE_EPOCH`, or the time of the last commit. */
function sourceEpoch(environment: Readonly<Record<string, string | undefined>>): number {
  const text = environment["SOURCE_DATE_EPOCH"] ?? lastCommit();
  if (!/^\d+$/.test(text)) throw new Error(`SOURCE_DATE_EPOCH must be a number of seconds, and is ${text}`);
  return Number(text);
}

function lastCommit(): string {
  try {
    return execFileSync("git", ["log", "-1", "--format=%ct"], { encoding: "utf8" }).trim();
  } catch (error) {
    throw new Error("the sources are not in git: set SOURCE_DATE_EPOCH to the date of the files", { cause: error });
  }
}
