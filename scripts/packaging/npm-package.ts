import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const CACHE = ".cache/npm-packages";

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version: string; readonly integrity?: string }>>;
}

/**
 * Fetches a package of `package-lock.json` from npm's configured registry and returns the path of its archive. The
 * content is verified with the lock file's integrity. Kept in .cache, so that the next call needs no network.
 */
export async function fetchPackage(name: string): Promise<string> {
  const lock = JSON.parse(await readFile("package-lock.json", "utf8")) as Lock;
  const { version, integrity } = lock.packages[`node_modules/${name}`] ?? {};
  if (version === undefined || integrity === undefined) throw new Error(`package-lock.json has no entry for ${name}`);
  await mkdir(CACHE, { recursive: true });
  const path = join(CACHE, `${name}-${version}.tgz`);
  if (await matches(path, integrity)) return path;
  const folder = await mkdtemp(join(CACHE, "fetch-"));
  try {
    console.error(`fetching ${name} ${version} from the npm registry`);
    const args = ["pack", "--silent", "--ignore-scripts", "--pack-destination", folder, `${name}@${version}`];
    await promisify(execFile)("npm", args);
    const fetched = join(folder, `${name}-${version}.tgz`);
    if (!(await matches(fetched, integrity)))
      throw new Error(`${name} ${version} does not match its integrity in package-lock.json`);
    await rename(fetched, path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return path;
}

async function matches(path: string, integrity: string): Promise<boolean> {
  const [algorithm = "", expected] = integrity.split("-");
  const content = await readFile(path).catch(() => undefined);
  return content !== undefined && createHash(algorithm).update(content).digest("base64") === expected;
}
