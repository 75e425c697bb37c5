import { existsSync, readdirSync } from "node:fs";
import { copyFile, lstat, readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { cached } from "../cached.ts";
import { succeed } from "../command.ts";
import { tempDir } from "../temp-dir.ts";
import { type FileEntry, fileLayer, type Layer } from "./image.ts";

const CACHE = ".cache/debian";

/** Files not needed in a container that make up most of some packages. */
const LEFT_OUT =
  /^(usr\/share\/(doc|man|locale|lintian|bug|info)|lib\/systemd|usr\/lib\/systemd|etc\/(init\.d|ufw))(\/|$)/;

/**
 * Returns the files of Debian packages as one layer; install scripts do not run. Packages are downloaded once and
 * cached; without access to Debian they must be in the cache.
 *
 * @param leftOut further files to leave out, by path
 */
export async function debianLayer(packages: readonly string[], leftOut?: RegExp): Promise<Layer> {
  const root = await tempDir();
  await using _root = root;
  for (const file of await downloaded(packages)) await succeed("dpkg-deb", ["-x", file, root.path]);
  const isWanted = (path: string): boolean => !LEFT_OUT.test(path) && leftOut?.test(path) !== true;
  return fileLayer(await entriesBelow(root.path, isWanted));
}

/** Returns the paths of the packages' files. Those that are not in the cache are downloaded at once. */
async function downloaded(packages: readonly string[]): Promise<string[]> {
  const missing = packages.filter((name) => !existsSync(join(CACHE, name)));
  const fresh = await tempDir();
  await using _fresh = fresh;
  if (missing.length > 0) await succeed("sh", ["-c", 'cd "$0" && apt-get -qq download "$@"', fresh.path, ...missing]);
  for (const name of missing) {
    await cached(CACHE, name, async (directory) => {
      const file = readdirSync(fresh.path).find((entry) => entry.startsWith(`${name}_`));
      if (file === undefined) throw new Error(`Debian has no package ${name}`);
      await copyFile(join(fresh.path, file), join(directory, file));
    });
  }
  return packages.map((name) => join(CACHE, name, readdirSync(join(CACHE, name))[0] ?? ""));
}

/** Returns everything below a directory. Directories that are not wanted are left out with what they contain. */
export async function entriesBelow(
  root: string,
  isWanted: (path: string) => boolean = () => true,
  folder: string = "",
): Promise<FileEntry[]> {
  const entries: FileEntry[] = [];
  for (const name of (await readdir(join(root, folder))).toSorted()) {
    const path = folder === "" ? name : `${folder}/${name}`;
    if (!isWanted(path)) continue;
    const full = join(root, path);
    const facts = await lstat(full);
    const mode = facts.mode & 0o7777;
    if (facts.isSymbolicLink()) entries.push({ path, linkTo: await readlink(full) });
    else if (facts.isFile()) entries.push({ path, content: await readFile(full), mode });
    else if (facts.isDirectory()) {
      entries.push({ path: `${path}/`, directory: true, mode }, ...(await entriesBelow(root, isWanted, path)));
    }
  }
  return entries;
}
