import type { Clock } from "../../lib/clock.ts";
import { appLogChunkSchema, type AppLogLine } from "../../protocol/app-log.ts";
import { EdgeError } from "../../protocol/errors.ts";
import type { LogEntry } from "../core/log-entry.ts";
import { Latch } from "../deployments/latch.ts";
import type { QuerySink } from "../deployments/devices.ts";
import { moreThanAsked, notUnderstood, toQueryError } from "./query-error.ts";

/** Most that waits for a client who reads more slowly than the device sends; lines beyond it are left out and counted. */
export const MAX_WAITING_BYTES = 512 * 1024;
/** What is handed on at once. */
const BATCH_BYTES = 32 * 1024;
/** Answers without a line that a log with an end may consist of beside those with lines. */
const MAX_EMPTY_ANSWERS = 100;
/** What a line costs beside its text. */
const LINE_OVERHEAD_BYTES = 100;
/** How long a device may pause within a log that has an end, in milliseconds. */
const PAUSE_MS = 30_000;
/** How long a stream may be silent before something has to be sent to keep it alive, in milliseconds. */
const KEEP_ALIVE_MS = 15_000;

export interface LogFeedOptions {
  readonly clock: Clock;
  /** Whether the log goes on for as long as the client stays. */
  readonly isFollowing: boolean;
  /** Most lines the device was asked for, of a log that has an end. */
  readonly maxLines?: number;
  readonly firstAnswerMs: number;
}

/** The lines of one `logs` query between the device that sends and the client who reads. */
export class LogFeed implements QuerySink, Disposable {
  readonly #options: LogFeedOptions;
  readonly #latch = new Latch();
  #waiting: LogEntry[] = [];
  #waitingBytes = 0;
  #hasBegun = false;
  #lines = 0;
  #emptyAnswers = 0;
  #end: { readonly error: EdgeError | undefined } | undefined;
  #query: Disposable | undefined;
  #silence: Disposable | undefined;
  #onSilence: () => void = () => {};

  constructor(options: LogFeedOptions) {
    this.#options = options;
  }

  /** @param query what is disposed of with the feed; `onSilence` is called when the device has taken too long */
  own(query: Disposable, onSilence: () => void): void {
    this.#query = query;
    this.#onSilence = onSilence;
    this.#expect(this.#options.firstAnswerMs);
  }

  answer(body: unknown): void {
    if (this.#end) return;
    const chunk = appLogChunkSchema.safeParse(body);
    if (!chunk.success) return this.end(notUnderstood());
    this.#hasBegun = true;
    if (this.#options.isFollowing) this.#silence?.[Symbol.dispose]();
    else this.#expect(PAUSE_MS);
    this.#omit(chunk.data.omitted_lines, chunk.data.omitted_bytes);
    this.#take(chunk.data.lines);
    this.#latch.set();
  }

  end(error: EdgeError | undefined): void {
    this.#end ??= { error: error && toQueryError(error) };
    this.#silence?.[Symbol.dispose]();
    this.#latch.set();
  }

  /** Resolves when the device has begun to answer. Throws what it answered instead. */
  async begun(): Promise<void> {
    while (!this.#hasBegun && !this.#end) await this.#latch.wait(this.#options.clock, KEEP_ALIVE_MS);
    if (!this.#hasBegun && this.#end?.error) throw this.#end.error;
    this.#latch.set();
  }

  /**
   * What comes, until the end. Where there is nothing to read at first, an empty batch comes at once; later ones keep
   * the connection alive. Throws when the end is not the log's.
   */
  async *batches(): AsyncGenerator<readonly LogEntry[], void, undefined> {
    if (this.#waiting.length === 0 && !this.#end) yield [];
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
    this.#query?.[Symbol.dispose]();
  }

  /** Takes as many lines as were asked for, and ends a log that goes on after that. */
  #take(lines: readonly AppLogLine[]): void {
    const { isFollowing, maxLines = Infinity } = this.#options;
    const most = isFollowing ? Infinity : maxLines;
    for (const line of lines.slice(0, most - this.#lines)) this.#push(line);
    this.#lines += lines.length;
    if (lines.length === 0) this.#emptyAnswers++;
    const isTooMuch = this.#lines > most || (!isFollowing && this.#emptyAnswers > MAX_EMPTY_ANSWERS);
    if (isTooMuch) this.end(moreThanAsked());
  }

  #nextBatch(): LogEntry[] {
    let bytes = 0;
    let count = 0;
    for (; count < this.#waiting.length && bytes < BATCH_BYTES; count++) bytes += costOf(this.#waiting[count]);
    this.#waitingBytes -= bytes;
    return this.#waiting.splice(0, count);
  }

  #push(line: AppLogLine): void {
    const bytes = costOf(line);
    if (this.#waitingBytes + bytes > MAX_WAITING_BYTES) return this.#omit(1, Buffer.byteLength(line.text));
    this.#waitingBytes += bytes;
    this.#waiting.push(line);
  }

  #omit(lines: number, bytes: number): void {
    if (lines === 0 && bytes === 0) return;
    const last = this.#waiting.at(-1);
    if (last && "omitted_lines" in last) {
      this.#waiting[this.#waiting.length - 1] = {
        omitted_lines: last.omitted_lines + lines,
        omitted_bytes: last.omitted_bytes + bytes,
      };
    } else {
      this.#waiting.push({ omitted_lines: lines, omitted_bytes: bytes });
    }
  }

  #expect(ms: number): void {
    this.#silence?.[Symbol.dispose]();
    this.#silence = this.#options.clock.timer(ms, () => {
      this.#onSilence();
      this.end(new EdgeError("DeviceNotReachable"));
    });
  }
}

function costOf(entry: LogEntry | undefined): number {
  return entry && "text" in entry ? Buffer.byteLength(entry.text) + LINE_OVERHEAD_BYTES : 0;
}
