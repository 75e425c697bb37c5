import { readFileSync, writeFileSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { parseBoundedJson } from "../../../src/protocol/values/bounded-json.ts";
import type { EntryPoint } from "./entry-point.ts";

/*
 * Runs in a process of its own, with --expose-gc. Times are processor time of the main thread: what others do on the machine
 * does not count. They are compared with a calibration in the same process.
 */

/** What the inputs of an entry point have cost. */
export interface Measured {
  readonly entryPoint: string;
  readonly from: EntryPoint["from"];
  readonly inputs: number;
  /** The one that stopped the event loop for longest. */
  readonly dearestInput: string;
  /** Its processor time without a turn of the event loop, in milliseconds, and as a multiple of the calibration. */
  readonly longestStopMs: number;
  readonly longestStop: number;
  /** Growth of the resident memory at its highest, while the inputs came one after the other. */
  readonly peakBytes: number;
}

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

/** Milliseconds of processor time for a plain document of 1 MiB: what this machine takes for work of the size of a frame. */
export function calibrate(): number {
  const app = { name: "app", image: "registry.example.com/team/app:1", labels: { area: "north", role: "kiosk" } };
  const json = Buffer.from(JSON.stringify(Array.from({ length: 9_000 }, () => app)).slice(0, 1024 * 1024));
  const valid = Buffer.from(`${json.subarray(0, json.lastIndexOf("},{") + 1).toString()}]`);
  const times = Array.from({ length: 15 }, () => {
    const start = cpuMs();
    parseBoundedJson(valid, "frame");
    return cpuMs() - start;
  });
  return times.toSorted((a, b) => a - b)[5] ?? 1;
}

const statusBytes = (name: string): number => {
  const [, kib] = new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(readFileSync("/proc/self/status", "utf8")) ?? [];
  return Number(kib) * 1024;
};

/** Returns the longest processor time without a turn of the event loop, in milliseconds. */
async function longestStopOf(run: () => unknown): Promise<number> {
  await nextTurn();
  let longest = 0;
  let last = cpuMs();
  const turn = (): void => {
    const now = cpuMs();
    longest = Math.max(longest, now - last);
    last = now;
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  try {
    await run();
  } catch {
    // Most are refused. What counts is the cost.
  }
  clearImmediate(next);
  return Math.max(longest, cpuMs() - last);
}

/** Measures all inputs of an entry point. */
export async function measure({ name, from, inputs, run }: EntryPoint, unitMs: number): Promise<Measured> {
  // Loads what is loaded with the first input.
  for (const { bytes } of inputs()) {
    await longestStopOf(() => run(bytes));
    break;
  }
  (globalThis as { gc?: () => void }).gc?.();
  // Resets the highest resident memory (proc(5)).
  writeFileSync("/proc/self/clear_refs", "5");
  const before = statusBytes("VmRSS");
  let dearest = { name: "", ms: 0 };
  let count = 0;
  for (const { name: input, bytes } of inputs()) {
    count++;
    let ms = await longestStopOf(() => run(bytes));
    // Once more, so that a collection of garbage that fell into it does not count.
    if (ms > dearest.ms) ms = Math.min(ms, await longestStopOf(() => run(bytes)));
    if (ms > dearest.ms) dearest = { name: input, ms };
  }
  return {
    entryPoint: name,
    from,
    inputs: count,
    dearestInput: dearest.name,
    longestStopMs: dearest.ms,
    longestStop: dearest.ms / unitMs,
    peakBytes: Math.max(0, statusBytes("VmHWM") - before),
  };
}
