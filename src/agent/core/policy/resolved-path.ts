import { normalizePath } from "../../../protocol/normalize-path.ts";

/** Where an absolute path leads, as far as the agent can see. */
export interface ResolvedPath {
  /** As it was written, without doubled slashes. */
  readonly written: string;
  /** With all symbolic links followed, as far as it exists; the rest stays as it is. */
  readonly real: string;
  /**
   * Entries of directories that decide where the path leads, beside those of `real`: symbolic links, and what a link
   * leaves again by `..`. No link is in their own paths. Who can replace one of them changes where the path leads.
   */
  readonly traversed: readonly string[];
  /** What could not be examined, and why, such as `EACCES`; where the path leads is then not known. */
  readonly unresolved: { readonly path: string; readonly reason: string } | undefined;
}

/** A path without symbolic links. */
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
