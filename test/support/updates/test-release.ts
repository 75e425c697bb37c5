import { createPublicKey, type KeyObject } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ARCHITECTURES } from "../../../scripts/packaging/architectures.ts";
import type { PackagedFile } from "../../../scripts/packaging/layout.ts";
import { writeRelease } from "../../../scripts/packaging/write-release.ts";
import { VERSION } from "../../../src/lib/version.ts";

export interface TestReleaseOptions {
  readonly folder: string;
  readonly version: string;
  /** Private key of its signer, whom devices trust afterwards. */
  readonly key: KeyObject;
  /** A script of the shell that is all it does, in place of Node.js and the program. */
  readonly script?: string;
  /** JavaScript that the program runs first. */
  readonly fault?: string;
}

/**
 * Writes a release of this build for this machine, or one that is broken on purpose, and returns its layout. Unless it is a
 * script, its program says that it is of the version.
 */
export async function writeTestRelease(options: TestReleaseOptions): Promise<string> {
  const { folder, version, key, script } = options;
  const work = await mkdtemp(join(folder, ".changed-"));
  try {
    return await writeRelease({
      architectures: ARCHITECTURES.filter(({ node }) => node === process.arch),
      version,
      folder,
      compression: "quick",
      key,
      trustedKeys: [createPublicKey(key)],
      change: async (files) =>
        script === undefined ? await changeProgram(files, work, options) : await replaceProgram(files, work, script),
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function replaceProgram(files: PackagedFile[], work: string, script: string): Promise<PackagedFile[]> {
  const from = join(work, "script");
  await writeFile(from, `#!/bin/sh\n${script}\n`);
  return files.flatMap(({ mode, to }) => (mode === 0o755 ? [{ mode, to, from }] : []));
}

/** The service judges a device by the version that its program says, which is a constant of the build. */
async function changeProgram(
  files: PackagedFile[],
  work: string,
  { version, fault = "" }: TestReleaseOptions,
): Promise<PackagedFile[]> {
  let isChanged = false;
  const changed: PackagedFile[] = [];
  for (const file of files) {
    if (!file.to.endsWith(".mjs")) {
      changed.push(file);
      continue;
    }
    const text = await readFile(file.from, "utf8");
    const other = text.replaceAll(`\`${VERSION}\``, `\`${version}\``);
    isChanged ||= other !== text;
    const from = join(work, file.to);
    await writeFile(from, file.to === "edge-agent.mjs" ? `${fault}\n${other}` : other);
    changed.push({ ...file, from });
  }
  if (!isChanged) throw new Error(`the build does not name its version, ${VERSION}`);
  return changed;
}
