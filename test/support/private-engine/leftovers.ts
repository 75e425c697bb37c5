import { readdir, readFile } from "node:fs/promises";
import { run } from "../command.ts";
import { waitFor } from "../wait-for.ts";

/**
 * Kills every process that has the directory in its arguments, and its descendants: containerd, its shims and the
 * containers below the shims.
 */
export async function killProcessesOf(directory: string): Promise<void> {
  // A dying shim reparents its containers to process 1: read the whole tree before killing any of it.
  for (let family = await processTreeOf(directory); family.length > 0; family = await processTreeOf(directory)) {
    for (const pid of family) kill(pid);
    await waitFor("killed processes to end", async () => {
      return (await Promise.all(family.map(isAlive))).every((alive) => !alive);
    });
  }
}

/** Unmounts everything below the directories. */
export async function unmountBelow(...directories: readonly string[]): Promise<void> {
  const mounts = (await readFile("/proc/self/mountinfo", "utf8")).split("\n").map((line) => line.split(" ")[4] ?? "");
  const ours = mounts.filter((mount) => directories.some((directory) => mount.startsWith(`${directory}/`)));
  for (const mount of ours.toReversed()) await run("umount", ["--lazy", mount]);
}

interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly named: boolean;
}

async function processTreeOf(directory: string): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const entries = (await Promise.all(pids.map((pid) => readEntry(pid, directory)))).filter(
    (entry) => entry !== undefined,
  );
  const family = new Set(entries.filter(({ named }) => named).map(({ pid }) => pid));
  let size = 0;
  while (size !== family.size) {
    size = family.size;
    for (const { pid, parent } of entries) if (family.has(parent)) family.add(pid);
  }
  return [...family];
}

async function readEntry(pid: number, directory: string): Promise<ProcessEntry | undefined> {
  try {
    const args = (await readFile(`/proc/${pid}/cmdline`, "utf8")).split("\0");
    const status = await readFile(`/proc/${pid}/status`, "utf8");
    if (pid === process.pid || /^State:\s+Z/m.test(status)) return undefined;
    const parent = Number(/^PPid:\s+(\d+)/m.exec(status)?.[1]);
    return { pid, parent, named: args.some((arg) => arg.includes(`${directory}/`)) };
  } catch {
    return undefined;
  }
}

/** Whether the process runs; false for a zombie. */
export async function isAlive(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => undefined);
  return status !== undefined && !/^State:\s+Z/m.test(status);
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has already ended.
  }
}
