import type { Clock } from "../lib/clock.ts";
import type { Output } from "../lib/terminal/output.ts";

export interface Input {
  readonly isTTY: boolean;
  /** Everything up to the end of the input. */
  readAll(): Promise<string>;
  /** Shows `question` and reads one line that is not shown. Only where `isTTY`. Rejects when interrupted. */
  readSecret(question: string): Promise<string>;
}

/** Everything a command touches outside itself, so that a test can hand it something else. */
export interface Io {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly homeDirectory: string;
  readonly fetch: typeof globalThis.fetch;
  /** Sleeping on it keeps the process alive. */
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
  readonly randomId: () => string;
  /** Aborts at Ctrl-C. */
  readonly interrupted: AbortSignal;
}
