import { isUtf8 } from "node:buffer";
import { type Readable, Writable } from "node:stream";
import type { Clock } from "../lib/clock.ts";
import type { Output } from "../lib/terminal/output.ts";
import { createReadStream } from "node:fs";
import { Failure, usageFailure } from "./failure.ts";
import { createInterface } from "node:readline/promises";

interface Input {
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

/** Reads a file named on the command line, or standard input for `-`. Errors: exit code 2. */
export function readTextOrStdin(name: string, io: Io): Promise<string> {
  return name === "-" ? io.stdin.readAll() : readTextFile(name);
}

/** Reads a file named on the command line. Errors: exit code 2. */
export async function readTextFile(name: string): Promise<string> {
  return decode(await readBytes(name), name);
}

/**
 * Returns the text of a file. Throws what is not UTF-8, with a `code` as other errors of reading files have: in another encoding
 * an app would get another text than is written, such as another password.
 */
export function decodeText(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw Object.assign(new Error("not UTF-8"), { code: "it is not text in UTF-8" });
  return bytes.toString("utf8");
}

function decode(bytes: Buffer, name: string): string {
  if (!isUtf8(bytes)) throw usageFailure(`${name} is not text in UTF-8.`);
  return bytes.toString("utf8");
}

/** The same, as bytes. */
export async function readBytes(name: string): Promise<Buffer> {
  try {
    return await readBounded(createReadStream(name), name);
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw usageFailure(`${name} cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown reason"}).`);
  }
}

/** Far above what a request may have. A device file and a pipe may have no end. */
const MAX_INPUT_BYTES = 64 * 1024 * 1024;

async function readBounded(stream: AsyncIterable<Buffer | string>, name: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    chunks.push(Buffer.from(chunk));
    bytes += chunk.length;
    if (bytes > MAX_INPUT_BYTES) throw usageFailure(`${name} has more than ${MAX_INPUT_BYTES / 1024 ** 2} MiB.`);
  }
  return Buffer.concat(chunks);
}

/** A stream that may be a terminal. `process.stdin` fits. */
type Stdin = Readable & { readonly isTTY?: boolean };

/** Creates the standard input. Prompts go to `output`; typed secrets are not echoed. */
export function createInput(stdin: Stdin, output: Output, interrupt: () => void, interrupted: AbortSignal): Input {
  return {
    isTTY: stdin.isTTY === true,
    readAll: async () => decode(await readBounded(stdin, "Standard input"), "Standard input"),
    async ask(question) {
      // The terminal itself echoes, and turns Ctrl-C into the signal.
      const lines = createInterface({ input: stdin, terminal: false });
      const ended = new Promise<string>((resolve) => lines.once("close", () => resolve("")));
      output.write(question);
      try {
        return await Promise.race([lines.question("", { signal: interrupted }), ended]);
      } finally {
        lines.close();
      }
    },
    async readSecret(question) {
      const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
      const lines = createInterface({ input: stdin, output: nowhere, terminal: true, historySize: 0 });
      // In raw mode Ctrl-C is a key like any other, and Ctrl-D closes the input.
      lines.on("SIGINT", interrupt);
      lines.on("close", interrupt);
      output.write(question);
      try {
        return await lines.question("", { signal: interrupted });
      } finally {
        lines.off("close", interrupt);
        lines.close();
        output.write("\n");
      }
    },
  };
}
