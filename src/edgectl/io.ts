import type { Readable, Writable } from "node:stream";
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

/** The process's own streams, for bytes of an app. */
export interface RawStreams {
  readonly stdin: Readable & { readonly isTTY?: boolean; setRawMode?(isRaw: boolean): unknown };
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };
  readonly stderr: Writable;
}

/** Everything a command accesses outside the process. Tests replace it. */
export interface Io {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Absent where there is no process, as in tests of commands that need none. */
  readonly raw?: RawStreams;
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
