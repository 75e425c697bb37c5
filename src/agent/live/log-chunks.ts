import type { Clock } from "../../lib/clock.ts";
import type { AppLogChunk, AppLogLine } from "../../protocol/apps/app-log.ts";
import { LogBudget, type LogLimits } from "../core/logs/budget.ts";
import type { LogLine } from "../engine/engine.ts";
import { NewestLines } from "./newest-lines.ts";

/** A chunk is sent when it reaches this size or age. */
const MAX_CHUNK_BYTES = 16 * 1024;
const MAX_CHUNK_AGE_MS = 250;

export interface LogChunksOptions {
  readonly limits: LogLimits;
  readonly clock: Clock;
  /** Sends one chunk. Resolves when it was handed to the connection. */
  readonly send: (chunk: AppLogChunk) => Promise<unknown>;
  readonly signal: AbortSignal;
}

/**
 * Collects the lines of one log into chunks and applies the limits. Existing lines wait for the rate limit. Of live lines
 * above it, the newest wait for it too, up to a chunk or one second's bytes; older ones are left out and counted. So the
 * last line of a burst is always sent, whether or not another one follows.
 */
export class LogChunks implements Disposable {
  readonly #options: LogChunksOptions;
  readonly #budget: LogBudget;
  readonly #waiting: NewestLines;
  #lines: AppLogLine[] = [];
  #bytes = 0;
  #omitted = { lines: 0, bytes: 0 };
  #chunkTimer: Disposable | undefined;
  #waitTimer: Disposable | undefined;
  #sending: Promise<void> = Promise.resolve();

  constructor(options: LogChunksOptions) {
    this.#options = options;
    this.#budget = new LogBudget(options.limits, options.clock.monotonic());
    this.#waiting = new NewestLines(Math.min(MAX_CHUNK_BYTES, options.limits.bytesPerSecond));
  }

  /** Adds one line. Resolves with `false`, without adding it, when the total limit is reached. */
  async add(line: LogLine, isLive: boolean): Promise<boolean> {
    const { clock, signal } = this.#options;
    const wire = toWire(line);
    const bytes = Buffer.byteLength(JSON.stringify(wire)) + 1;
    if (this.#budget.isExhausted(bytes)) return false;
    const delay = this.#budget.delay(bytes, clock.monotonic());
    if (isLive && (delay > 0 || this.#waiting.bytes > 0)) {
      await this.#keepWaiting(wire, bytes);
      return true;
    }
    if (delay > 0) {
      await this.flush();
      await clock.sleep(delay, signal);
    }
    this.#take(wire, bytes);
    if (this.#bytes >= MAX_CHUNK_BYTES) await this.flush();
    return true;
  }

  /** Sends all lines that were added, those that wait for the rate limit once it allows that. */
  async finish(): Promise<void> {
    const { clock, signal } = this.#options;
    if (this.#waiting.bytes > 0) await clock.sleep(this.#budget.delay(this.#waiting.bytes, clock.monotonic()), signal);
    this.#takeWaiting();
    await this.flush();
  }

  /** Sends the collected lines and the counts of omitted ones, if there are any. */
  async flush(): Promise<void> {
    if (this.#lines.length > 0 || this.#omitted.lines > 0) await this.send();
    else await this.#sending;
  }

  /** Sends a chunk, even if it is empty. */
  send(): Promise<void> {
    this.#chunkTimer?.[Symbol.dispose]();
    this.#chunkTimer = undefined;
    const { lines: omitted_lines, bytes: omitted_bytes } = this.#omitted;
    const chunk = { lines: this.#lines, omitted_lines, omitted_bytes };
    this.#lines = [];
    this.#bytes = 0;
    this.#omitted = { lines: 0, bytes: 0 };
    this.#sending = this.#options.send(chunk).then(() => undefined);
    return this.#sending;
  }

  [Symbol.dispose](): void {
    this.#chunkTimer?.[Symbol.dispose]();
    this.#waitTimer?.[Symbol.dispose]();
  }

  #take(wire: AppLogLine, bytes: number): void {
    this.#budget.spend(bytes, this.#options.clock.monotonic());
    this.#lines.push(wire);
    this.#bytes += bytes;
    // The session has ended, and the log with it.
    this.#chunkTimer ??= this.#options.clock.timer(MAX_CHUNK_AGE_MS, () => void this.flush().catch(() => undefined));
  }

  async #keepWaiting(wire: AppLogLine, bytes: number): Promise<void> {
    const dropped = this.#waiting.push({ wire, bytes }, this.#budget.left);
    this.#awaitBudget();
    if (dropped.lines === 0) return;
    // The omitted lines of a chunk come before its lines.
    const flushed = this.#lines.length > 0 ? this.flush() : undefined;
    this.#omitted.lines += dropped.lines;
    this.#omitted.bytes += dropped.bytes;
    await flushed;
  }

  /** Takes the waiting lines together as soon as all of them may be sent: few chunks, and lines that belong together. */
  #awaitBudget(): void {
    if (this.#waitTimer || this.#waiting.bytes === 0) return;
    const { clock } = this.#options;
    const delay = this.#budget.delay(this.#waiting.bytes, clock.monotonic());
    // The session has ended, and the log with it.
    this.#waitTimer = clock.timer(delay, () => void this.#sendWaiting().catch(() => undefined));
  }

  async #sendWaiting(): Promise<void> {
    // On a link that is slower than the limit, lines go on waiting.
    await this.#sending;
    this.#waitTimer = undefined;
    // More lines may have come meanwhile.
    if (this.#budget.delay(this.#waiting.bytes, this.#options.clock.monotonic()) > 0) return this.#awaitBudget();
    this.#takeWaiting();
    await this.flush();
  }

  #takeWaiting(): void {
    for (const { wire, bytes } of this.#waiting.takeAll()) this.#take(wire, bytes);
  }
}

function toWire({ stream, time, text, truncated }: LogLine): AppLogLine {
  return { stream, time, text, ...(truncated && { truncated }) };
}
