import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** Counts how often a process has files flushed to storage. Disposing it ends the count. */
export interface FlushCounter extends AsyncDisposable {
  readonly count: number;
}

/**
 * Attaches strace to a process; `undefined` if this machine has none, or may not trace.
 *
 * @param file for its output
 */
export async function countFlushes(pid: number, file: string): Promise<FlushCounter | undefined> {
  const options = ["-f", "-qq", "-e", "trace=fsync,fdatasync", "-p", String(pid), "-o", file];
  const tracer = spawn("strace", options, { stdio: "ignore" });
  const ended = once(tracer, "close").catch(() => undefined);
  // It says nothing when it has attached.
  const isAttached = await Promise.race([ended.then(() => false), sleep(1_000, true)]);
  if (!isAttached) return undefined;
  return {
    get count() {
      return readFileSync(file, "utf8").match(/\bf(?:data)?sync\(/g)?.length ?? 0;
    },
    async [Symbol.asyncDispose]() {
      tracer.kill("SIGINT");
      await ended;
    },
  };
}
