import { execFile } from "node:child_process";
import { access, copyFile, mkdir, mkdtemp, realpath, rename, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { LIBRARIES } from "../bundling/runtime.ts";
import type { Architecture } from "./architectures.ts";
import { fetchPackage } from "./npm-package.ts";

const execute = promisify(execFile);

/** The one library of Node.js that a system may lack; libstdc++ and libgcc are dependencies of `apt`. */
const LIBRARY = "libatomic.so.1";

/**
 * Returns a folder with Node.js for devices of the architecture: `node` without symbols, its libraries in `lib`, and
 * its `LICENSE`. Built once for each version and kept in .cache.
 */
export async function nodeRuntime({ npmPackage, triplet }: Architecture): Promise<string> {
  const archive = await fetchPackage(npmPackage);
  const folder = archive.replace(/\.tgz$/, "");
  if (await exists(folder)) return folder;
  const staging = await mkdtemp(`${folder}.staging-`);
  try {
    await execute("tar", [
      "-xzf",
      archive,
      "-C",
      staging,
      "--strip-components=1",
      "package/bin/node",
      "package/LICENSE",
    ]);
    const node = join(staging, "node");
    await rename(join(staging, "bin/node"), node);
    await rmdir(join(staging, "bin"));
    await execute(`${triplet}-strip`, ["--strip-all", node]);
    await execute("patchelf", ["--set-rpath", `$ORIGIN/${LIBRARIES}`, node]);
    await mkdir(join(staging, LIBRARIES));
    await copyFile(await findLibrary(triplet), join(staging, LIBRARIES, LIBRARY));
    await rename(staging, folder).catch(async (error: unknown) => {
      // Another run created the same folder meanwhile.
      if (!(await exists(folder))) throw error;
    });
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
  return folder;
}

/** Searches the folders of Debian's native packages and of its cross packages. */
async function findLibrary(triplet: string): Promise<string> {
  for (const folder of [`/usr/lib/${triplet}`, `/usr/${triplet}/lib`]) {
    const path = join(folder, LIBRARY);
    if (await exists(path)) return await realpath(path);
  }
  throw new Error(`this machine has no ${LIBRARY} for ${triplet}`);
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}
