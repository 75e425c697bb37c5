import { lstat, readlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { normalizePath } from "../../protocol/values/normalize-path.ts";
import type { ResolvedPath } from "../core/policy/resolved-path.ts";

// The limit of the kernel.
const MAX_LINKS = 40;

/** Access to the file system. Its errors have a `code`. */
export interface LinkReader {
  /** Target of a symbolic link; `undefined` for anything else. Rejects with ENOENT when nothing exists. */
  read(path: string): Promise<string | undefined>;
}

/**
 * Resolves an absolute path as the kernel does, one component at a time. Dangling links are followed as well: once the
 * target is created, the path leads there. Only ENOENT counts as absent.
 */
export async function resolvePath(path: string, links: LinkReader = FILE_SYSTEM): Promise<ResolvedPath> {
  const written = normalizePath(path);
  const remaining = path.split("/").toReversed();
  const traversed: string[] = [];
  let [real, followed, isMissing] = ["/", 0, false];
  let unresolved: ResolvedPath["unresolved"];
  for (let name = remaining.pop(); name !== undefined; name = remaining.pop()) {
    if (name === "" || name === ".") continue;
    if (name === "..") {
      if (real !== "/") traversed.push(real);
      real = dirname(real);
      isMissing = false;
      continue;
    }
    real = join(real, name);
    if (isMissing || unresolved) continue;
    const target = await links.read(real).catch((error: unknown) => {
      const reason = errorCodeOf(error);
      if (reason === "ENOENT") isMissing = true;
      else unresolved = { path: real, reason };
      return undefined;
    });
    if (target === undefined) continue;
    traversed.push(real);
    if (++followed > MAX_LINKS) {
      unresolved = { path: real, reason: "ELOOP" };
      continue;
    }
    real = target.startsWith("/") ? "/" : dirname(real);
    remaining.push(...target.split("/").toReversed());
  }
  return { written, real, traversed, unresolved };
}

const FILE_SYSTEM: LinkReader = {
  read: async (path) => ((await lstat(path)).isSymbolicLink() ? await readlink(path) : undefined),
};

function errorCodeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "unknown error";
}
