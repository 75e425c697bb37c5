import { type ChildProcess, spawn } from "node:child_process";
import { createWriteStream } from "node:fs";
import { createInterface } from "node:readline";

const STOP_TIMEOUT_MS = 10_000;
const MESSAGE_TIMEOUT_MS = 30_000;
const LAST_LINES = 20;

/**
 * A running executable of this project. It ends with this process at the latest. Disposing of it stops it and waits.
 */
export interface RunningProgram extends AsyncDisposable {
  readonly pid: number;
  /** Start time on the scale of `performance.now()`. */
  readonly startedAt: number;
  /** Waits for a log line whose `msg` begins with `prefix`. Rejects when the program ends, or after 30 s. */
  waitForMessage(prefix: string): Promise<Record<string, unknown>>;
}

interface ProgramOptions {
  /** File for its output. */
  readonly log: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Starts an executable in its own process group: Ctrl-C reaches only this process, which then stops it. */
export function startProgram(path: string, args: readonly string[], options: ProgramOptions): RunningProgram {
  const startedAt = performance.now();
  const env = { ...process.env, ...options.environment };
  const child = spawn(path, args, { detached: true, stdio: ["ignore", "pipe", "pipe"], env });
  if (child.pid === undefined) throw new Error(`${path} cannot be started`);
  return new Program(child, child.pid, startedAt, `${path} ${args[0] ?? ""}`, options.log);
}

type Waiting = { readonly prefix: string } & PromiseWithResolvers<Record<string, unknown>>;

class Program implements RunningProgram {
  readonly pid: number;
  readonly startedAt: number;
  readonly #name: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  readonly #messages: Record<string, unknown>[] = [];
  readonly #lastLines: string[] = [];
  readonly #waiting = new Set<Waiting>();
  #hasEnded = false;

  constructor(child: ChildProcess, pid: number, startedAt: number, name: string, log: string) {
    this.pid = pid;
    this.startedAt = startedAt;
    this.#name = name;
    this.#child = child;
    const kill = (): void => void child.kill("SIGKILL");
    process.once("exit", kill);
    const file = createWriteStream(log, { flags: "a" });
    for (const output of [child.stdout, child.stderr]) {
      if (output) createInterface({ input: output }).on("line", (line) => (file.write(`${line}\n`), this.#read(line)));
    }
    this.#ended = new Promise((resolve) => {
      child.once("close", (code, signal) => {
        this.#hasEnded = true;
        process.off("exit", kill);
        for (const waiting of this.#waiting) waiting.reject(this.#failure(`ended with ${signal ?? code}`));
        file.end(resolve);
      });
    });
  }

  waitForMessage(prefix: string): Promise<Record<string, unknown>> {
    const earlier = this.#messages.find((message) => String(message["msg"]).startsWith(prefix));
    if (earlier) return Promise.resolve(earlier);
    if (this.#hasEnded) return Promise.reject(this.#failure("has ended"));
    const waiting = { prefix, ...Promise.withResolvers<Record<string, unknown>>() };
    this.#waiting.add(waiting);
    const timer = setTimeout(() => waiting.reject(this.#failure(`did not log “${prefix}”`)), MESSAGE_TIMEOUT_MS);
    return waiting.promise.finally(() => {
      clearTimeout(timer);
      this.#waiting.delete(waiting);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#hasEnded) this.#child.kill("SIGTERM");
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), STOP_TIMEOUT_MS);
    await this.#ended;
    clearTimeout(timer);
  }

  #failure(what: string): Error {
    return new Error(`${this.#name} ${what}; last lines:\n${this.#lastLines.join("\n")}`);
  }

  #read(line: string): void {
    this.#lastLines.push(line);
    if (this.#lastLines.length > LAST_LINES) this.#lastLines.shift();
    if (!line.startsWith("{")) return;
    const message = JSON.parse(line) as Record<string, unknown>;
    this.#messages.push(message);
    for (const waiting of this.#waiting) {
      if (String(message["msg"]).startsWith(waiting.prefix)) waiting.resolve(message);
    }
  }
}
