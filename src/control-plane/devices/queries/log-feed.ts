import type { Clock } from "../../../lib/clock.ts";
import { appLogChunkSchema, type AppLogLine } from "../../../protocol/apps/app-log.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import type { LogEntry, Omission } from "../../core/log-entry.ts";
import { Latch } from "../../../lib/latch.ts";
import type { QuerySink } from "../session.ts";
import { excessiveAnswer, invalidAnswer } from "./query-error.ts";

/** Maximum size of lines buffered for a slow client. The oldest ones are left out and counted beyond it. */
export const MAX_BUFFERED_BYTES = 512 * 1024;
/** Size at which a batch is full. */
const MIN_BATCH_BYTES = 32 * 1024;
/** Maximum number of answers without lines in a log that is not followed. */
const MAX_EMPTY_ANSWERS = 100;
/** Memory charged for a line in addition to its text. */
const LINE_OVERHEAD_BYTES = 100;
/** Maximum pause between answers of a log that is not followed, in milliseconds. */
const NEXT_ANSWER_TIMEOUT_MS = 30_000;
/** Maximum silence of a stream before an empty batch keeps it alive, in milliseconds. */
const KEEP_ALIVE_MS = 15_000;
const NOTHING: Omission = { omitted_lines: 0, omitted_bytes: 0 };

export interface LogFeedOptions {
  readonly clock: Clock;
  /** Whether new lines are followed until the client leaves. */
  readonly isFollowing: boolean;
  /** Number of lines requested, for a log that is not followed. */
  readonly maxLines?: number;
  readonly firstAnswerTimeoutMs: number;
  /** Sends the query. What it returns is disposed of with the feed. */
  readonly openQuery: (sink: QuerySink) => Disposable;
  /** Called when the device has not sent anything for too long. */
  readonly onSilence: () => void;
}

/** Buffers the lines of one `logs` query between the device and the client. */
export class LogFeed implements QuerySink, Disposable {
  readonly #options: LogFeedOptions;
  readonly #latch = new Latch();
  #buffer: LogEntry[] = [];
  /** Index of the oldest entry: removing it from the array each time would move all others. */
  #start = 0;
  #bufferedBytes = 0;
  /** Entries that were displaced before the oldest one. */
  #displaced: Omission = NOTHING;
  #hasAnswered = false;
  #lines = 0;
  #emptyAnswers = 0;
  #end: { readonly error: EdgeError | undefined } | undefined;
  readonly #query: Disposable;
  #timeout: Disposable | undefined;

  /** Sends the query. Throws as `openQuery` does. */
  constructor(options: LogFeedOptions) {
    this.#options = options;
    this.#query = options.openQuery(this);
    this.#armTimeout(options.firstAnswerTimeoutMs);
  }

  answer(body: unknown): void {
    if (this.#end) return;
    const chunk = appLogChunkSchema.safeParse(body);
    if (!chunk.success) return this.end(invalidAnswer());
    this.#hasAnswered = true;
    if (this.#options.isFollowing) this.#timeout?.[Symbol.dispose]();
    else this.#armTimeout(NEXT_ANSWER_TIMEOUT_MS);
    this.#omit(chunk.data.omitted_lines, chunk.data.omitted_bytes);
    this.#acceptLines(chunk.data.lines);
    this.#latch.set();
  }

  end(error: EdgeError | undefined): void {
    this.#end ??= { error };
    this.#timeout?.[Symbol.dispose]();
    this.#latch.set();
  }

  /** Resolves with the first answer. Throws the error with which the device ended the query instead. */
  async waitForFirstAnswer(): Promise<void> {
    while (!this.#hasAnswered && !this.#end) await this.#latch.wait(this.#options.clock, KEEP_ALIVE_MS);
    if (!this.#hasAnswered && this.#end?.error) throw this.#end.error;
    this.#latch.set();
  }

  /**
   * Yields the lines until the end of the log. If there are none at first, an empty batch is yielded at once; later empty
   * batches keep the connection alive. Throws when the query ends with an error.
   */
  async *batches(): AsyncGenerator<readonly LogEntry[], void, undefined> {
    if (this.#buffer.length === 0 && !this.#end) yield [];
    for (;;) {
      const batch = this.#nextBatch();
      if (batch.length > 0) yield batch;
      else if (this.#end?.error) throw this.#end.error;
      else if (this.#end) return;
      else if (!(await this.#latch.wait(this.#options.clock, KEEP_ALIVE_MS))) yield [];
    }
  }

  [Symbol.dispose](): void {
    this.end(undefined);
    this.#query[Symbol.dispose]();
  }

  /** Takes the requested number of lines. Ends the feed with an error if the device sends more. */
  #acceptLines(lines: readonly AppLogLine[]): void {
    const { isFollowing, maxLines = Infinity } = this.#options;
    const limit = isFollowing ? Infinity : maxLines;
    for (const line of lines.slice(0, limit - this.#lines)) this.#push(line);
    this.#lines += lines.length;
    if (lines.length === 0) this.#emptyAnswers++;
    const isExcessive = this.#lines > limit || (!isFollowing && this.#emptyAnswers > MAX_EMPTY_ANSWERS);
    if (isExcessive) this.end(excessiveAnswer());
  }

  #nextBatch(): LogEntry[] {
    const batch: LogEntry[] = [];
    let bytes = 0;
    if (this.#displaced.omitted_lines > 0) {
      batch.push(this.#displaced);
      this.#displaced = NOTHING;
    }
    while (this.#start < this.#buffer.length && bytes < MIN_BATCH_BYTES) {
      const entry = this.#shift();
      bytes += bufferCostBytes(entry);
      batch.push(entry);
    }
    return batch;
  }

  /** Adds a line. The newest lines stay: they say why an app has ended, and nothing may follow them. */
  #push(line: AppLogLine): void {
    this.#bufferedBytes += bufferCostBytes(line);
    this.#buffer.push(line);
    while (this.#bufferedBytes > MAX_BUFFERED_BYTES) this.#displaced = sum(this.#displaced, toOmission(this.#shift()));
    // A gap that follows lines that were displaced is one with theirs.
    const first = this.#buffer[this.#start];
    if (this.#displaced.omitted_lines > 0 && first && "omitted_lines" in first)
      this.#displaced = sum(this.#displaced, toOmission(this.#shift()));
  }

  #omit(lines: number, bytes: number): void {
    if (lines === 0 && bytes === 0) return;
    const omission = { omitted_lines: lines, omitted_bytes: bytes };
    const last = this.#start < this.#buffer.length ? this.#buffer.at(-1) : undefined;
    if (last && "omitted_lines" in last) this.#buffer[this.#buffer.length - 1] = sum(last, omission);
    else this.#buffer.push(omission);
  }

  /** Removes the oldest entry. Precondition: there is one. */
  #shift(): LogEntry {
    const entry = this.#buffer[this.#start++]!;
    this.#bufferedBytes -= bufferCostBytes(entry);
    if (this.#start * 2 > this.#buffer.length) {
      this.#buffer = this.#buffer.slice(this.#start);
      this.#start = 0;
    }
    return entry;
  }

  #armTimeout(ms: number): void {
    this.#timeout?.[Symbol.dispose]();
    this.#timeout = this.#options.clock.timer(ms, () => {
      this.#options.onSilence();
      this.end(new EdgeError("DeviceNotReachable"));
    });
  }
}

function bufferCostBytes(entry: LogEntry): number {
  return "text" in entry ? Buffer.byteLength(entry.text) + LINE_OVERHEAD_BYTES : 0;
}

function toOmission(entry: LogEntry): Omission {
  return "text" in entry ? { omitted_lines: 1, omitted_bytes: Buffer.byteLength(entry.text) } : entry;
}

function sum(a: Omission, b: Omission): Omission {
  return { omitted_lines: a.omitted_lines + b.omitted_lines, omitted_bytes: a.omitted_bytes + b.omitted_bytes };
}
