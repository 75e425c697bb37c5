import { lstat, readlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { normalizePath } from "../../protocol/normalize-path.ts";
import type { ResolvedPath } from "../core/policy/resolved-path.ts";

// As many as the kernel follows.
const MAX_LINKS = 40;

/** What of the file system is looked at. Errors carry a `code`. */
export interface LinkReader {
  /** Where the symbolic link leads; `undefined` where there is something else. Rejects with ENOENT where nothing is. */
  read(path: string): Promise<string | undefined>;
}

/**
 * Follows an absolute path as the kernel does, one component at a time. A link that leads nowhere is followed as well:
 * once its target is created, that is where the path leads. Only what does not exist (ENOENT) is taken for absent.
 */
export async function resolvePath(path: string, links: LinkReader = FILE_SYSTEM): Promise<ResolvedPath> {
  const written = normalizePath(path);
  const ahead = path.split("/").toReversed();
  const turns: string[] = [];
  let [real, followed, isMissing] = ["/", 0, false];
  let unseen: ResolvedPath["unresolved"];
  for (let name = ahead.pop(); name !== undefined; name = ahead.pop()) {
    if (name === "" || name === ".") continue;
    if (name === "..") {
      if (real !== "/") turns.push(real);
      real = dirname(real);
      isMissing = false;
      continue;
    }
    real = join(real, name);
    if (isMissing || unseen) continue;
    const target = await links.read(real).catch((error: unknown) => {
      const reason = errorCodeOf(error);
      if (reason === "ENOENT") isMissing = true;
      else unseen = { path: real, reason };
      return undefined;
    });
    if (target === undefined) continue;
    turns.push(real);
    if (++followed > MAX_LINKS) {
      unseen = { path: real, reason: "ELOOP" };
      continue;
    }
    real = target.startsWith("/") ? "/" : dirname(real);
    ahead.push(...target.split("/").toReversed());
  }
  return { written, real, traversed: turns, unresolved: unseen };
}

const FILE_SYSTEM: LinkReader = {
  read: async (path) => ((await lstat(path)).isSymbolicLink() ? await readlink(path) : undefined),
};

function errorCodeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "unknown error";
}
