import { closeSync, fstatSync, openSync, readSync, renameSync, writeSync } from "node:fs";
import type { Clock } from "../clock.ts";

export interface RotatingFileOptions {
  readonly path: string;
  /** Size of one file. */
  readonly maxBytes: number;
  /** Files in all, at least 1: the one that is written to, and older ones as `path.1`, `path.2` … */
  readonly maxFiles: number;
  readonly clock: Clock;
}

const MODE = 0o600;
/** What is held in memory: written at once in one go, it wears the flash less. */
const HELD_BYTES = 16 * 1024;
const HELD_MS = 30_000;
/** How long a file that cannot be written is left alone. */
const PAUSE_MS = 60_000;
const LONGEST_LINE = 16 * 1024;

const URGENT = /"level":"(?:warn|error|fatal)"/;

/**
 * A log on disk that never takes more than `maxBytes * maxFiles`. Lines are held back for a while; a warning takes them
 * along. A disk that is full or read-only costs lines, which are counted, and nothing else: this never throws.
 */
export class RotatingFile implements Disposable {
  readonly #options: RotatingFileOptions;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #timer: Disposable | undefined;
  #fd: number | undefined;
  #size = 0;
  #pausedUntil = -Infinity;
  #lost = 0;

  constructor(options: RotatingFileOptions) {
    this.#options = options;
  }

  /** Takes one line of JSON. */
  write(line: string): void {
    const content = Buffer.from(line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}\n` : line);
    this.#held.push(content);
    this.#heldBytes += content.length;
    if (this.#heldBytes >= HELD_BYTES || URGENT.test(line.slice(0, 100))) this.flush();
    else this.#timer ??= this.#options.clock.timer(HELD_MS, () => this.flush());
  }

  /** Writes what is held back. */
  flush(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    const lines = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    if (lines.length === 0) return;
    const now = this.#options.clock.monotonic();
    if (now < this.#pausedUntil) {
      this.#lost += lines.length;
      return;
    }
    try {
      this.#append(lines);
    } catch {
      this.#lost += lines.length;
      this.#pausedUntil = now + PAUSE_MS;
      this.#close();
    }
  }

  [Symbol.dispose](): void {
    this.flush();
    this.#close();
  }

  #append(lines: readonly Buffer[]): void {
    const content = Buffer.concat(this.#lost > 0 ? [this.#confession(), ...lines] : lines);
    this.#fd ??= this.#open();
    if (this.#size > 0 && this.#size + content.length > this.#options.maxBytes) this.#rotate();
    for (let rest = content; rest.length > 0;) {
      const written = writeSync(this.#fd, rest);
      this.#size += written;
      rest = rest.subarray(written);
    }
    this.#lost = 0;
  }

  #confession(): Buffer {
    const time = new Date(this.#options.clock.now()).toISOString();
    const msg = "lines of the log could not be written into this file; is the disk full? see: edge-agent doctor";
    return Buffer.from(`${JSON.stringify({ level: "warn", time, name: "edge-agent", lost: this.#lost, msg })}\n`);
  }

  #open(): number {
    const fd = openSync(this.#options.path, "a+", MODE);
    this.#size = fstatSync(fd).size;
    const last = Buffer.alloc(1);
    // Power failed in the middle of a line: what follows is to be a line of its own.
    const isTorn = this.#size > 0 && readSync(fd, last, 0, 1, this.#size - 1) === 1 && last[0] !== 10;
    if (isTorn) this.#size += writeSync(fd, "\n");
    return fd;
  }

  #rotate(): void {
    const { path, maxFiles } = this.#options;
    this.#close();
    for (let number = maxFiles - 1; number >= 1; number--) {
      moveIfThere(number === 1 ? path : `${path}.${number - 1}`, `${path}.${number}`);
    }
    this.#fd = openSync(path, maxFiles === 1 ? "w" : "a", MODE);
    this.#size = 0;
  }

  #close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }
}

function moveIfThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}
