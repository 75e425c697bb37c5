import { readlink, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";

// As many as the kernel follows.
const MAX_LINKS = 40;

/**
 * Resolves the symbolic links of an absolute path as far as it exists and keeps the rest. A link that leads nowhere is
 * followed as well: once its target is created, that is where the path leads.
 */
export function resolveRealPath(path: string): Promise<string> {
  return follow(resolve(path), MAX_LINKS);
}

async function follow(path: string, linksLeft: number): Promise<string> {
  const whole = await realpath(path).catch(() => undefined);
  if (whole !== undefined || path === "/") return whole ?? path;
  const parent = await follow(dirname(path), linksLeft);
  const here = join(parent, basename(path));
  const target = await readlink(here).catch(() => undefined);
  if (target === undefined || linksLeft === 0) return here;
  return await follow(resolve(parent, target), linksLeft - 1);
}
