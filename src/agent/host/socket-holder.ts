import { readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import type { HostProcess } from "./host.ts";

/**
 * Finds the first process that has one of these sockets open. Scans all processes: call it only to explain a conflict.
 * Without privileges, processes of other users are not seen.
 */
export async function findSocketHolder(
  proc: string,
  inodes: ReadonlySet<number>,
  signal: AbortSignal,
): Promise<HostProcess | undefined> {
  if (inodes.size === 0) return undefined;
  const wanted = new Set([...inodes].map((inode) => `socket:[${inode}]`));
  for (const pid of (await entries(proc)).filter((name) => /^\d+$/.test(name))) {
    signal.throwIfAborted();
    if (await holdsOne(join(proc, pid, "fd"), wanted)) return await describe(proc, pid);
  }
  return undefined;
}

async function holdsOne(directory: string, wanted: ReadonlySet<string>): Promise<boolean> {
  const targets = await Promise.all((await entries(directory)).map((fd) => linkTarget(join(directory, fd))));
  return targets.some((target) => wanted.has(target));
}

async function describe(proc: string, pid: string): Promise<HostProcess | undefined> {
  // The process has ended.
  const name = await readFile(join(proc, pid, "comm"), "utf8").catch(() => undefined);
  return name === undefined ? undefined : { pid: Number(pid), name: name.trim() };
}

// Processes may end and close files during the scan; errors are ignored.
function entries(directory: string): Promise<string[]> {
  // The process has ended, or is another user's.
  return readdir(directory).catch(() => []);
}

function linkTarget(path: string): Promise<string> {
  // The file has been closed.
  return readlink(path).catch(() => "");
}
