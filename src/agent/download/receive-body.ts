import type { Readable } from "node:stream";
import type { Clock } from "../../lib/clock.ts";
import type { Throttle } from "./throttle.ts";

/** How a body ended, other than by an error of `write`. */
export type BodyEnd =
  /** All wanted bytes arrived. */
  | { readonly kind: "complete" }
  /** The sender ended the body before all wanted bytes arrived. */
  | { readonly kind: "short" }
  | { readonly kind: "cut"; readonly error: unknown }
  | { readonly kind: "stalled" };

export interface BodyOptions {
  readonly clock: Clock;
  /** Bytes at the beginning to discard, because they are present already. */
  readonly skip: number;
  /** Bytes wanted after the skipped ones. */
  readonly wanted: number;
  /** A connection that delivers nothing for this time is considered dead, in milliseconds. */
  readonly stallMs: number;
  readonly throttle: Throttle;
  /** Stores bytes; one call at a time. The buffer is reused when it resolves. */
  readonly write: (bytes: Buffer) => Promise<void>;
  /** Called with the number of bytes received, including skipped ones: before they are written, and before the end. */
  readonly onReceived: (bytes: number) => void;
  readonly signal: AbortSignal;
}

/** Size of one write. There are two buffers: one is filled while the other is written. */
const BUFFER_BYTES = 256 * 1024;
/** Shorter pauses for the rate limit are accumulated until they are worth a timer. */
const MIN_PAUSE_MS = 50;
/** Time in which a body must end after its last wanted byte. */
const END_TIMEOUT_MS = 1_000;

/**
 * Reads a body with bounded memory. Every byte that reached this process is written, even when the connection breaks:
 * on an unreliable metered link the bytes a destroyed stream would drop cost money. Rejects with the error of `write` or
 * `onReceived`, or with the signal's reason.
 */
export async function receiveBody(stream: Readable, options: BodyOptions): Promise<BodyEnd> {
  using receiver = new BodyReceiver(stream, options);
  const end = await receiver.ended;
  await receiver.written;
  options.signal.throwIfAborted();
  return end;
}

class BodyReceiver implements Disposable {
  readonly #stream: Readable;
  readonly #options: BodyOptions;
  readonly #end = Promise.withResolvers<BodyEnd>();
  /** Received bytes are copied here at once, so that network buffers do not pile up as garbage. */
  #buffer: Buffer;
  #spare: Buffer;
  #buffered = 0;
  /** Chunks that do not fit into the buffer; the stream is paused until they do. */
  #waiting: Buffer[] = [];
  /** Bytes that `onReceived` was not called for yet. A call for each chunk took a tenth of a fast download's processor time. */
  #unreported = 0;
  #skip: number;
  #wanted: number;
  #writing: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;
  #isOver = false;
  #lastAt: number;
  #stall: Disposable;
  #pause: Disposable | undefined;

  constructor(stream: Readable, options: BodyOptions) {
    this.#stream = stream;
    this.#options = options;
    // Small ranges come by the hundred: buffers of full size would pile up as garbage.
    const bufferBytes = Math.min(BUFFER_BYTES, options.wanted);
    this.#buffer = Buffer.allocUnsafeSlow(bufferBytes);
    this.#spare = Buffer.allocUnsafeSlow(bufferBytes);
    this.#skip = options.skip;
    this.#wanted = options.wanted;
    this.#lastAt = options.clock.monotonic();
    this.#stall = this.#watch(options.stallMs);
    stream.on("data", this.#onData);
    stream.on("end", () => this.#finish({ kind: "short" }));
    stream.on("error", (error: unknown) => this.#finish({ kind: "cut", error }));
    stream.on("close", () => this.#finish({ kind: "cut", error: new Error("the connection was closed") }));
    options.signal.addEventListener("abort", this.#onAbort, { once: true });
    if (options.signal.aborted) this.#onAbort();
    else if (stream.errored) this.#finish({ kind: "cut", error: stream.errored });
    else if (stream.destroyed) this.#finish({ kind: "cut", error: new Error("the connection was closed") });
    else if (this.#wanted === 0) this.#finish({ kind: "complete" });
  }

  /** Resolves when the body ends; received bytes may still be unwritten. */
  get ended(): Promise<BodyEnd> {
    return this.#end.promise;
  }

  /** Resolves when all received bytes are written. */
  get written(): Promise<void> {
    return this.#flushed();
  }

  [Symbol.dispose](): void {
    this.#finish({ kind: "complete" });
    this.#options.signal.removeEventListener("abort", this.#onAbort);
  }

  readonly #onAbort = (): void => this.#finish({ kind: "complete" });

  readonly #onData = (chunk: Buffer): void => {
    if (this.#isOver) return;
    const { clock, throttle } = this.#options;
    this.#unreported += chunk.length;
    if (this.#unreported >= BUFFER_BYTES) this.#report();
    this.#lastAt = clock.monotonic();
    const skipped = Math.min(this.#skip, chunk.length);
    this.#skip -= skipped;
    const piece = chunk.subarray(skipped, skipped + this.#wanted);
    this.#wanted -= piece.length;
    if (piece.length > 0) this.#accept(piece);
    if (this.#wanted === 0) {
      this.#finish({ kind: "complete" }, true);
      return;
    }
    const aheadMs = throttle.take(chunk.length);
    if (aheadMs >= MIN_PAUSE_MS) this.#pauseFor(aheadMs);
    else if (this.#waiting.length > 0) this.#stream.pause();
  };

  #accept(piece: Buffer): void {
    this.#waiting.push(piece);
    this.#fillBuffer();
    this.#writing ??= this.#drain();
  }

  #fillBuffer(): void {
    for (let piece = this.#waiting[0]; piece && this.#buffered < this.#buffer.length; piece = this.#waiting[0]) {
      const copied = piece.copy(this.#buffer, this.#buffered);
      this.#buffered += copied;
      if (copied < piece.length) this.#waiting[0] = piece.subarray(copied);
      else this.#waiting.shift();
    }
  }

  async #drain(): Promise<void> {
    try {
      while (this.#buffered > 0) {
        const full = this.#buffer.subarray(0, this.#buffered);
        [this.#buffer, this.#spare] = [this.#spare, this.#buffer];
        this.#buffered = 0;
        this.#fillBuffer();
        // First: bytes on the device that were not reported as received look like those of an earlier download.
        this.#report();
        await this.#options.write(full);
        if (this.#failure) break;
        this.#fillBuffer();
        if (this.#waiting.length === 0) this.#resume();
      }
    } catch (error) {
      this.#fail(error);
    }
    this.#writing = undefined;
  }

  #report(): void {
    const bytes = this.#unreported;
    if (bytes === 0) return;
    this.#unreported = 0;
    try {
      this.#options.onReceived(bytes);
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#waiting = [];
    this.#buffered = 0;
    this.#finish({ kind: "cut", error });
  }

  async #flushed(): Promise<void> {
    while (this.#writing) await this.#writing;
    if (this.#failure) throw this.#failure.error;
  }

  /** Pauses the stream to limit the rate. Bytes that arrive meanwhile wait in the kernel. */
  #pauseFor(ms: number): void {
    this.#stream.pause();
    this.#pause?.[Symbol.dispose]();
    this.#pause = this.#options.clock.timer(ms, () => {
      this.#pause = undefined;
      if (this.#waiting.length === 0) this.#resume();
    });
  }

  #resume(): void {
    if (this.#pause || this.#isOver || !this.#stream.isPaused()) return;
    this.#lastAt = this.#options.clock.monotonic();
    this.#stream.resume();
  }

  /** Checks after `ms` milliseconds whether anything arrived. Time in which the stream is paused does not count. */
  #watch(ms: number): Disposable {
    const { clock, stallMs } = this.#options;
    return clock.timer(ms, () => {
      if (this.#isOver) return;
      const silentMs = this.#stream.isPaused() ? 0 : clock.monotonic() - this.#lastAt;
      if (silentMs >= stallMs) this.#finish({ kind: "stalled" });
      else this.#stall = this.#watch(stallMs - silentMs);
    });
  }

  #finish(end: BodyEnd, keepConnection = false): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#report();
    this.#stall[Symbol.dispose]();
    this.#pause?.[Symbol.dispose]();
    this.#stream.off("data", this.#onData);
    if (keepConnection) this.#drainToEnd();
    else if (!this.#stream.readableEnded) this.#stream.destroy();
    this.#end.resolve(end);
  }

  /** Keeps the connection for the next request if the body ends here; destroys it if more arrives. */
  #drainToEnd(): void {
    const stream = this.#stream;
    const destroyIfOpen = (): void => void (stream.readableEnded || stream.destroy());
    stream.once("data", destroyIfOpen);
    stream.resume();
    const limit = this.#options.clock.timer(END_TIMEOUT_MS, destroyIfOpen);
    stream.once("close", () => limit[Symbol.dispose]());
  }
}
