import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { MAX_WAIT_MS, waitFor } from "./wait-for.ts";

export interface CommandOptions {
  readonly cwd?: string;
  /** Added to the environment of the test. `undefined` removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly input?: string | Uint8Array;
  /** Milliseconds after which the command is killed. Default four minutes. */
  readonly timeoutMs?: number;
}

interface Outcome {
  /** `null` where a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command until it exits. A non-zero exit code is no error. */
export async function run(command: string, args: readonly string[], options: CommandOptions = {}): Promise<Outcome> {
  await using child = start(command, args, options);
  const timer = setTimeout(() => child.kill("SIGKILL"), options.timeoutMs ?? 240_000);
  const code = await child.exited;
  clearTimeout(timer);
  return { code, stdout: child.stdout(), stderr: child.stderr() };
}

/** Runs a command and returns its standard output. Rejects unless it exits with 0. */
export async function succeed(command: string, args: readonly string[], options: CommandOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await run(command, args, options);
  if (code === 0) return stdout;
  throw new Error(`${command} ${args.join(" ")} ended with ${code}\n${tail(stdout)}${tail(stderr)}`);
}

/** A background process. Disposing it kills it and waits for its exit. */
export interface RunningCommand extends AsyncDisposable {
  readonly pid: number;
  /** Exit code, `null` where a signal ended it. */
  readonly exited: Promise<number | null>;
  /** Everything written so far. */
  stdout(): string;
  stderr(): string;
  kill(signal?: NodeJS.Signals): void;
  /** Waits for text in stdout or stderr. Rejects with the output as soon as the process ends without it. */
  waitForOutput(pattern: string | RegExp, timeoutMs?: number): Promise<void>;
  /** Waits until the condition holds. Rejects with the output as soon as the process ends before. */
  waitUntil(what: string, condition: () => boolean | Promise<boolean>, timeoutMs?: number): Promise<void>;
}

/** Starts a process. Throws when it cannot be started. */
export function start(command: string, args: readonly string[], options: CommandOptions = {}): RunningCommand {
  const env = { ...process.env, ...options.env };
  const child = spawn(command, args, { cwd: options.cwd, env, stdio: "pipe" });
  if (child.pid === undefined) {
    child.on("error", () => {});
    throw new Error(`${command} cannot be started: is it installed?`);
  }
  child.stdin.on("error", () => {});
  child.stdin.end(options.input);
  return new Running(child, child.pid, [command, ...args].join(" "));
}

class Running implements RunningCommand {
  readonly pid: number;
  readonly exited: Promise<number | null>;
  readonly #child: ChildProcess;
  readonly #name: string;
  readonly #stdout: Buffer[] = [];
  readonly #stderr: Buffer[] = [];
  #ended = false;

  constructor(child: ChildProcess, pid: number, name: string) {
    this.#child = child;
    this.pid = pid;
    this.#name = name;
    child.stdout?.on("data", (chunk: Buffer) => this.#stdout.push(chunk));
    child.stderr?.on("data", (chunk: Buffer) => this.#stderr.push(chunk));
    this.exited = new Promise((resolve) => {
      child.once("close", (code) => {
        this.#ended = true;
        resolve(code);
      });
    });
  }

  stdout(): string {
    return Buffer.concat(this.#stdout).toString();
  }

  stderr(): string {
    return Buffer.concat(this.#stderr).toString();
  }

  kill(signal: NodeJS.Signals = "SIGTERM"): void {
    this.#child.kill(signal);
  }

  waitForOutput(pattern: string | RegExp, timeoutMs?: number): Promise<void> {
    const matches = (text: string): boolean => {
      return typeof pattern === "string" ? text.includes(pattern) : pattern.test(text);
    };
    const seen = (): boolean => matches(this.stdout()) || matches(this.stderr());
    return this.waitUntil(`${pattern} in the output`, seen, timeoutMs);
  }

  async waitUntil(what: string, condition: () => boolean | Promise<boolean>, timeoutMs = MAX_WAIT_MS): Promise<void> {
    const look = async (): Promise<"met" | "ended" | false> => {
      if (await condition()) return "met";
      return this.#ended && "ended";
    };
    const output = (): string => `\n${tail(this.stdout())}${tail(this.stderr())}`;
    const end = await waitFor(`${what} of ${this.#name}`, look, { timeoutMs }).catch((error: unknown) => {
      throw new Error(`${String(error)}${output()}`, { cause: error });
    });
    if (end === "ended") throw new Error(`${this.#name} ended before: ${what}${output()}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#ended) this.kill("SIGKILL");
    await this.exited;
  }
}

const TAIL_LENGTH = 4000;

function tail(text: string): string {
  return text.length > TAIL_LENGTH ? `…${text.slice(-TAIL_LENGTH)}` : text;
}
