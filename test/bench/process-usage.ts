import { readdirSync, readFileSync } from "node:fs";

/** Unit of processor times in `/proc`, on all architectures that Node.js supports. */
const TICK_MS = 10;

/** Resident memory of a process in bytes. */
export function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kilobytes) * 1024;
}

/**
 * Memory of a process in bytes, where what it shares with others counts in part (PSS). Node.js itself counts in full, as on
 * a device, on which no other process runs it.
 */
export function proportionalBytes(pid: number): number {
  let kilobytes = 0;
  let counted = "Pss";
  for (const line of readFileSync(`/proc/${pid}/smaps`, "utf8").split("\n")) {
    if (/^[0-9a-f]+-[0-9a-f]+ /.test(line)) counted = line.endsWith("/node") ? "Rss" : "Pss";
    const [, name, value] = /^(\w+): +(\d+) kB$/.exec(line) ?? [];
    if (name === counted) kilobytes += Number(value);
  }
  return kilobytes * 1024;
}

/** Processor time of all threads of a process, in milliseconds with nanosecond resolution. */
export function processorMs(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const nanoseconds = threads.map((thread) => {
    return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]);
  });
  return nanoseconds.reduce((sum, value) => sum + value, 0) / 1e6;
}

/**
 * Processor time of a process and of all that it has started, ended or not, in milliseconds with a resolution of 10 ms. Not of
 * what has left it, such as the containers of an engine.
 */
export function treeProcessorMs(root: number): number {
  const entries = new Map<number, { readonly parent: number; readonly ms: number }>();
  for (const pid of readdirSync("/proc").map(Number)) if (pid > 0) addEntry(entries, pid);
  const isBelow = (pid: number): boolean => pid === root || (pid > 0 && isBelow(entries.get(pid)?.parent ?? 0));
  return [...entries].reduce((sum, [pid, { ms }]) => sum + (isBelow(pid) ? ms : 0), 0);
}

function addEntry(entries: Map<number, { readonly parent: number; readonly ms: number }>, pid: number): void {
  try {
    // The name, which may have spaces, is in parentheses.
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ")
      .map(Number);
    const [, parent = 0] = fields;
    // utime, stime, cutime and cstime.
    const ticks = fields.slice(11, 15).reduce((sum, value) => sum + value, 0);
    entries.set(pid, { parent, ms: ticks * TICK_MS });
  } catch {
    // It has ended.
  }
}

/** The lowest memory within the time, in which V8 collects what work has left. */
export async function settledBytes(pid: number, settleMs: number): Promise<number> {
  let lowest = Infinity;
  for (const end = performance.now() + settleMs; performance.now() < end;) {
    await new Promise((resolve) => setTimeout(resolve, 250));
    lowest = Math.min(lowest, residentBytes(pid));
  }
  return lowest;
}
