import type { AppLogLine } from "../../protocol/apps/app-log.ts";

interface WaitingLine {
  readonly wire: AppLogLine;
  /** Size on the wire. */
  readonly bytes: number;
}

/** The newest lines of a log, up to a number of bytes; the newest one whatever its size. */
export class NewestLines {
  readonly #maxBytes: number;
  #lines: WaitingLine[] = [];
  /** Index of the oldest line: removing it from the array each time would move all others. */
  #start = 0;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Adds a line. Returns how many older ones it displaced, and their bytes. @param limit in bytes, if it is lower */
  push(line: WaitingLine, limit = Infinity): { readonly lines: number; readonly bytes: number } {
    this.#lines.push(line);
    this.#bytes += line.bytes;
    const before = { start: this.#start, bytes: this.#bytes };
    const maxBytes = Math.min(this.#maxBytes, limit);
    while (this.#bytes > maxBytes && this.#start < this.#lines.length - 1)
      this.#bytes -= this.#lines[this.#start++]!.bytes;
    const dropped = { lines: this.#start - before.start, bytes: before.bytes - this.#bytes };
    if (this.#start * 2 > this.#lines.length) {
      this.#lines = this.#lines.slice(this.#start);
      this.#start = 0;
    }
    return dropped;
  }

  /** Removes and returns all lines, oldest first. */
  takeAll(): readonly WaitingLine[] {
    const lines = this.#lines.slice(this.#start);
    this.#lines = [];
    this.#start = 0;
    this.#bytes = 0;
    return lines;
  }
}
