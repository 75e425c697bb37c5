import { lstatSync, lutimesSync, renameSync, rmSync } from "node:fs";

const DATABASE_SUFFIXES = ["", "-wal", "-shm"];

/** How long a damaged database is kept for analysis. Not longer, because it may contain secrets of apps. */
const RETENTION_MS = 30 * 24 * 3_600_000;

const quarantinePath = (path: string): string => `${path}.damaged`;

/**
 * Moves a database with its -wal and -shm files aside, replacing an earlier copy. Returns the new path.
 *
 * @param nowMs time of day
 */
export function quarantineDatabase(path: string, nowMs: number): string {
  const target = quarantinePath(path);
  for (const suffix of DATABASE_SUFFIXES) {
    rmSync(target + suffix, { recursive: true, force: true });
    if (!lstatSync(path + suffix, { throwIfNoEntry: false })) continue;
    renameSync(path + suffix, target + suffix);
    lutimesSync(target + suffix, nowMs / 1000, nowMs / 1000);
  }
  return target;
}

/** Removes a copy that was set aside more than 30 days ago. Returns whether there was one. @param nowMs time of day */
export function removeExpiredQuarantine(path: string, nowMs: number): boolean {
  const old = DATABASE_SUFFIXES.map((suffix) => quarantinePath(path) + suffix).filter((file) => {
    const facts = lstatSync(file, { throwIfNoEntry: false });
    return facts !== undefined && nowMs - facts.mtimeMs > RETENTION_MS;
  });
  for (const file of old) rmSync(file, { recursive: true, force: true });
  return old.length > 0;
}
