import { execFileSync } from "node:child_process";
import { constants, copyFile, link, mkdir } from "node:fs/promises";
import { basename, join } from "node:path";

// Parts of the C library: every base image has its own, which must be used.
const C_LIBRARY = /^(linux-vdso|ld-linux|libc|libm|libdl|libpthread)[.-]/;

/** Folder beside Node.js for its libraries, which it searches first. */
export const LIBRARIES = "lib";

/**
 * Copies this machine's Node.js into the folder, with the libraries that a small system may lack. For the container
 * image and device packages.
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

// A hard link needs no time and space, but only works within one file system.
async function linkOrCopy(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch {
    await copyFile(from, to, constants.COPYFILE_FICLONE);
  }
}
