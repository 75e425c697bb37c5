import type { Clock } from "../../lib/clock.ts";
import { appLogChunkSchema, type AppLogLine } from "../../protocol/app-log.ts";
import { EdgeError } from "../../protocol/errors.ts";
import type { LogEntry } from "../core/log-entry.ts";
import { Latch } from "../deployments/latch.ts";
import type { QuerySink } from "../deployments/devices.ts";
import { notUnderstood, toQueryError } from "./query-error.ts";

/** Most that waits for a client who reads more slowly than the device sends; lines beyond it are left out and counted. */
const MAX_WAITING_BYTES = 512 * 1024;
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
  readonly firstAnswerMs: number;
}

/** The lines of one `logs` query between the device that sends and the client who reads. */
export class LogFeed implements QuerySink, Disposable {
  readonly #options: LogFeedOptions;
  readonly #latch = new Latch();
  #waiting: LogEntry[] = [];
  #waitingBytes = 0;
  #hasBegun = false;
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
    const chunk = appLogChunkSchema.safeParse(body);
    if (!chunk.success) return this.end(notUnderstood());
    this.#hasBegun = true;
    if (this.#options.isFollowing) this.#silence?.[Symbol.dispose]();
    else this.#expect(PAUSE_MS);
    this.#omit(chunk.data.omitted_lines, chunk.data.omitted_bytes);
    for (const line of chunk.data.lines) this.#push(line);
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
      const batch = this.#waiting;
      this.#waiting = [];
      this.#waitingBytes = 0;
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

  #push(line: AppLogLine): void {
    const bytes = Buffer.byteLength(line.text);
    if (this.#waitingBytes + bytes > MAX_WAITING_BYTES) return this.#omit(1, bytes);
    this.#waitingBytes += bytes + LINE_OVERHEAD_BYTES;
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
