import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { tempDir } from "./temp-dir.ts";

const run = promisify(execFile);

/** Returns why a small disk cannot be made here; `undefined` if it can. */
export async function smallDiskUnavailableReason(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return "mounting a disk needs root";
  return await run("mkfs.ext4", ["-V"]).then(
    () => undefined,
    () => "mkfs.ext4 is not installed",
  );
}

/**
 * Mounts a new file system of `megabytes` MB from a file; needs root. Disposing it unmounts and removes it.
 *
 * @param hasJournal as disks of devices have, which is written besides
 */
export async function smallDisk(
  megabytes: number,
  hasJournal = false,
): Promise<{ readonly path: string } & AsyncDisposable> {
  const home = await tempDir();
  const image = join(home.path, "disk.img");
  const path = join(home.path, "mount");
  try {
    await mkdir(path);
    await writeFile(image, "");
    await run("truncate", ["--size", `${megabytes}M`, image]);
    await run("mkfs.ext4", ["-q", "-m", "0", "-O", hasJournal ? "has_journal" : "^has_journal", image]);
    await run("mount", ["-o", "loop", image, path]);
  } catch (error) {
    await home[Symbol.asyncDispose]();
    throw error;
  }
  return {
    path,
    async [Symbol.asyncDispose]() {
      await run("umount", [path]);
      await home[Symbol.asyncDispose]();
    },
  };
}
