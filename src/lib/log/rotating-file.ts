import { closeSync, fstatSync, openSync, readSync, renameSync, writeSync } from "node:fs";
import type { Clock } from "../clock.ts";

export interface RotatingFileOptions {
  readonly path: string;
  /** Size of one file. */
  readonly maxBytes: number;
  /** Number of files, at least 1: the current one, and older ones as `path.1`, `path.2` … */
  readonly maxFiles: number;
  readonly clock: Clock;
}

const MODE = 0o600;
/** Lines are buffered up to this size: fewer writes wear the flash less. */
const MAX_BUFFER_BYTES = 16 * 1024;
const FLUSH_INTERVAL_MS = 30_000;
/** Pause before the next attempt to write after an error. */
const RETRY_PAUSE_MS = 60_000;
const MAX_LINE_LENGTH = 16 * 1024;

const URGENT = /"level":"(?:warn|error|fatal)"/;

/**
 * A log on disk of at most `maxBytes * maxFiles`. Lines are buffered; a warning flushes them. Never throws: lines that
 * cannot be written are dropped and counted.
 */
export class RotatingFile implements Disposable {
  readonly #options: RotatingFileOptions;
  #buffer: Buffer[] = [];
  #bufferedBytes = 0;
  #timer: Disposable | undefined;
  #fd: number | undefined;
  #size = 0;
  #pausedUntil = -Infinity;
  #droppedLines = 0;

  constructor(options: RotatingFileOptions) {
    this.#options = options;
  }

  /** Appends one line of JSON, including its line break. */
  write(line: string): void {
    const content = Buffer.from(line.length > MAX_LINE_LENGTH ? `${line.slice(0, MAX_LINE_LENGTH)}\n` : line);
    this.#buffer.push(content);
    this.#bufferedBytes += content.length;
    if (this.#bufferedBytes >= MAX_BUFFER_BYTES || URGENT.test(line.slice(0, 100))) this.flush();
    else this.#timer ??= this.#options.clock.timer(FLUSH_INTERVAL_MS, () => this.flush());
  }

  /** Writes the buffered lines. */
  flush(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    const lines = this.#buffer;
    this.#buffer = [];
    this.#bufferedBytes = 0;
    if (lines.length === 0) return;
    const now = this.#options.clock.monotonic();
    if (now < this.#pausedUntil) {
      this.#droppedLines += lines.length;
      return;
    }
    try {
      this.#append(lines);
    } catch {
      this.#droppedLines += lines.length;
      this.#pausedUntil = now + RETRY_PAUSE_MS;
      this.#close();
    }
  }

  [Symbol.dispose](): void {
    this.flush();
    this.#close();
  }

  #append(lines: readonly Buffer[]): void {
    const content = Buffer.concat(this.#droppedLines > 0 ? [this.#droppedLinesRecord(), ...lines] : lines);
    this.#fd ??= this.#open();
    if (this.#size > 0 && this.#size + content.length > this.#options.maxBytes) this.#rotate();
    for (let rest = content; rest.length > 0;) {
      const written = writeSync(this.#fd, rest);
      this.#size += written;
      rest = rest.subarray(written);
    }
    this.#droppedLines = 0;
  }

  #droppedLinesRecord(): Buffer {
    const time = new Date(this.#options.clock.now()).toISOString();
    const msg = "lines of the log could not be written into this file; is the disk full? see: edge-agent doctor";
    return Buffer.from(
      `${JSON.stringify({ level: "warn", time, name: "edge-agent", lost: this.#droppedLines, msg })}\n`,
    );
  }

  #open(): number {
    const fd = openSync(this.#options.path, "a+", MODE);
    this.#size = fstatSync(fd).size;
    const last = Buffer.alloc(1);
    // The last line was truncated by a power cut: start a new line.
    const isTorn = this.#size > 0 && readSync(fd, last, 0, 1, this.#size - 1) === 1 && last[0] !== 10;
    if (isTorn) this.#size += writeSync(fd, "\n");
    return fd;
  }

  #rotate(): void {
    const { path, maxFiles } = this.#options;
    this.#close();
    for (let number = maxFiles - 1; number >= 1; number--) {
      renameIfExists(number === 1 ? path : `${path}.${number - 1}`, `${path}.${number}`);
    }
    this.#fd = openSync(path, maxFiles === 1 ? "w" : "a", MODE);
    this.#size = 0;
  }

  #close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }
}

function renameIfExists(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}
