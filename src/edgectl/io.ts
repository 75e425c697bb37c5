import type { Clock } from "../lib/clock.ts";
import type { Output } from "../lib/terminal/output.ts";

export interface Input {
  readonly isTTY: boolean;
  /** Reads to the end of the input. */
  readAll(): Promise<string>;
  /** Prompts with `question` and reads one line; empty at the end of the input. Rejects when interrupted. */
  ask(question: string): Promise<string>;
  /** Prompts with `question` and reads one line without echo. Requires `isTTY`. Rejects when interrupted. */
  readSecret(question: string): Promise<string>;
}

/** Everything a command accesses outside the process. Tests replace it. */
export interface Io {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly homeDirectory: string;
  readonly fetch: typeof globalThis.fetch;
  /** Its `sleep` keeps the process alive. */
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
  readonly randomId: () => string;
  /** Aborts on Ctrl-C. */
  readonly interrupted: AbortSignal;
}
