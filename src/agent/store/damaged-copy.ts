import { existsSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";

const SUFFIXES = ["", "-wal", "-shm"];

/** How long a damaged database is kept: long enough to be asked for, since it may hold what apps were given. */
const KEPT_MS = 30 * 24 * 3_600_000;

const asideOf = (path: string): string => `${path}.damaged`;

/** Moves a database with its companions out of the way. One such copy is kept: the newest. @param nowMs time of day */
export function setAside(path: string, nowMs: number): string {
  const aside = asideOf(path);
  for (const suffix of SUFFIXES) {
    rmSync(aside + suffix, { force: true });
    if (!existsSync(path + suffix)) continue;
    renameSync(path + suffix, aside + suffix);
    utimesSync(aside + suffix, nowMs / 1000, nowMs / 1000);
  }
  return aside;
}

/** Removes a copy that was set aside more than 30 days ago. Answers whether there was one. @param nowMs time of day */
export function removeOldCopy(path: string, nowMs: number): boolean {
  const old = SUFFIXES.map((suffix) => asideOf(path) + suffix).filter((file) => {
    const facts = statSync(file, { throwIfNoEntry: false });
    return facts !== undefined && nowMs - facts.mtimeMs > KEPT_MS;
  });
  for (const file of old) rmSync(file, { force: true });
  return old.length > 0;
}
