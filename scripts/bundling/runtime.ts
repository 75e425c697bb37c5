import { execFileSync } from "node:child_process";
import { constants, copyFile, link, mkdir } from "node:fs/promises";
import { basename, join } from "node:path";

// Part of the C library, which every base has, and which must be the base's own.
const C_LIBRARY = /^(linux-vdso|ld-linux|libc|libm|libdl|libpthread)[.-]/;

/** Folder beside Node.js for its libraries, which it searches first. */
export const LIBRARIES = "lib";

/**
 * Puts this machine's Node.js into the folder, with those libraries it needs that a small system may lack, for the
 * container image and packages for devices.
 */
export async function addRuntime(folder: string): Promise<void> {
  await linkOrCopy(process.execPath, join(folder, "node"));
  const libraries = join(folder, LIBRARIES);
  await mkdir(libraries);
  for (const library of sharedLibraries(process.execPath)) await copyFile(library, join(libraries, basename(library)));
}

function sharedLibraries(program: string): string[] {
  const lines = execFileSync("ldd", [program], { encoding: "utf8" }).split("\n");
  const paths = lines.flatMap((line) => /=> (\/\S+)/.exec(line)?.[1] ?? []);
  return paths.filter((path) => !C_LIBRARY.test(basename(path)));
}

// A link costs neither time nor space, but works only within one file system.
async function linkOrCopy(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch {
    await copyFile(from, to, constants.COPYFILE_FICLONE);
  }
}
