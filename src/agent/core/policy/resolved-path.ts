import { normalizePath } from "../../../protocol/values/normalize-path.ts";

/** Where an absolute path leads, as far as the agent can resolve it. */
export interface ResolvedPath {
  /** As written in the request or policy, normalized. */
  readonly written: string;
  /** With all symbolic links followed; parts that do not exist are unchanged. */
  readonly real: string;
  /**
   * Directory entries that decide where the path leads, besides those of `real`: symbolic links, and directories that a
   * link leaves by `..`. Their own paths contain no links. Replacing one of them changes where the path leads.
   */
  readonly traversed: readonly string[];
  /** The entry that could not be examined, and why, such as `EACCES`. `real` is then unknown. */
  readonly unresolved: { readonly path: string; readonly reason: string } | undefined;
}

/** Returns the resolved form of a path that contains no symbolic links. */
export function pathWithoutLinks(path: string): ResolvedPath {
  const written = normalizePath(path);
  return { written, real: written, traversed: [], unresolved: undefined };
}

/** Whether `path` is `prefix` or lies below it. */
export function isPathWithin(path: string, prefix: string): boolean {
  const base = normalizePath(prefix);
  return base === "/" || path === base || path.startsWith(`${base}/`);
}

/** Whether `path` lies below `directory`. */
export function isPathBelow(path: string, directory: string): boolean {
  return path !== normalizePath(directory) && isPathWithin(path, directory);
}
