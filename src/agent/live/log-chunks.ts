import type { Clock } from "../../lib/clock.ts";
import type { AppLogChunk, AppLogLine } from "../../protocol/app-log.ts";
import { LogBudget, type LogLimits } from "../core/logs/budget.ts";
import type { LogLine } from "../engine/engine.ts";

/** A chunk is sent when it reaches this size or age. */
const MAX_CHUNK_BYTES = 16 * 1024;
const MAX_CHUNK_AGE_MS = 250;
/** How often omitted lines are reported when no line is sent. */
const OMITTED_REPORT_INTERVAL_MS = 5_000;

export interface LogChunksOptions {
  readonly limits: LogLimits;
  readonly clock: Clock;
  /** Sends one chunk. Resolves when it was handed to the connection. */
  readonly send: (chunk: AppLogChunk) => Promise<unknown>;
  readonly signal: AbortSignal;
}

/**
 * Collects the lines of one log into chunks and applies the limits. Existing lines wait for the rate limit; live lines
 * above it are left out and counted.
 */
export class LogChunks implements Disposable {
  readonly #options: LogChunksOptions;
  readonly #budget: LogBudget;
  #lines: AppLogLine[] = [];
  #bytes = 0;
  #omitted = { lines: 0, bytes: 0 };
  #timer: Disposable | undefined;
  #sending: Promise<void> = Promise.resolve();

  constructor(options: LogChunksOptions) {
    this.#options = options;
    this.#budget = new LogBudget(options.limits, options.clock.monotonic());
  }

  /** Adds one line. Resolves with `false`, without adding it, when the total limit is reached. */
  async add(line: LogLine, isLive: boolean): Promise<boolean> {
    const { clock, signal } = this.#options;
    const wire = toWire(line);
    const bytes = Buffer.byteLength(JSON.stringify(wire)) + 1;
    if (this.#budget.isExhausted(bytes)) return false;
    const delay = this.#budget.delay(bytes, clock.monotonic());
    if (delay > 0 && isLive) {
      await this.#omit(bytes);
      return true;
    }
    if (delay > 0) {
      await this.flush();
      await clock.sleep(delay, signal);
    }
    this.#budget.spend(bytes, clock.monotonic());
    this.#lines.push(wire);
    this.#bytes += bytes;
    if (this.#bytes >= MAX_CHUNK_BYTES) await this.flush();
    else this.#timer ??= clock.timer(MAX_CHUNK_AGE_MS, () => void this.flush().catch(() => undefined));
    return true;
  }

  /** Sends the collected lines and the counts of omitted ones, if there are any. */
  async flush(): Promise<void> {
    if (this.#lines.length > 0 || this.#omitted.lines > 0) await this.send();
    else await this.#sending;
  }

  /** Sends a chunk, even if it is empty. */
  send(): Promise<void> {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    const { lines: omitted_lines, bytes: omitted_bytes } = this.#omitted;
    const chunk = { lines: this.#lines, omitted_lines, omitted_bytes };
    this.#lines = [];
    this.#bytes = 0;
    this.#omitted = { lines: 0, bytes: 0 };
    this.#sending = this.#options.send(chunk).then(() => undefined);
    return this.#sending;
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
  }

  async #omit(bytes: number): Promise<void> {
    // The omitted lines of a chunk come before its lines.
    if (this.#lines.length > 0) await this.flush();
    this.#omitted.lines++;
    this.#omitted.bytes += bytes;
    this.#timer ??= this.#options.clock.timer(
      OMITTED_REPORT_INTERVAL_MS,
      () => void this.flush().catch(() => undefined),
    );
  }
}

function toWire({ stream, timestamp, text, truncated }: LogLine): AppLogLine {
  return { stream, timestamp, text, ...(truncated && { truncated }) };
}
