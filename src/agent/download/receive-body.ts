import type { Readable } from "node:stream";
import type { Clock } from "../../lib/clock.ts";
import type { Throttle } from "./throttle.ts";

/** How a body ended, other than by an error of whoever takes its bytes. */
export type BodyEnd =
  /** As many bytes came as were wanted. */
  | { readonly kind: "complete" }
  /** The sender says that this was all, with less than was wanted. */
  | { readonly kind: "short" }
  | { readonly kind: "cut"; readonly error: unknown }
  | { readonly kind: "stalled" };

export interface BodyOptions {
  readonly clock: Clock;
  /** Bytes at the beginning that are known already. */
  readonly skip: number;
  /** Bytes wanted after those. */
  readonly wanted: number;
  /** Silence that is taken for a dead connection, in milliseconds. */
  readonly stallMs: number;
  readonly throttle: Throttle;
  /** Puts bytes by, in one call at a time. They are the caller's again when it resolves. */
  readonly write: (bytes: Buffer) => Promise<void>;
  /** Bytes as they come off the connection, also those that are skipped. */
  readonly onReceived: (bytes: number) => void;
  readonly signal: AbortSignal;
}

/** Bytes gathered for one write, twice: one gathers while the other is written. */
const BUFFER_BYTES = 256 * 1024;
/** Pauses to keep a rate are gathered until they are worth a timer. */
const MIN_PAUSE_MS = 50;
/** How long the end of a body may take after its last byte. */
const MAX_END_MS = 1_000;

/**
 * Reads a body with bounded memory. Every byte that reached this process is written, whatever happens to the connection
 * behind it: on a link that is cut all the time, what a stream would throw away with its buffer is money. Rejects with
 * what `write` rejects with, or the signal's reason.
 */
export async function receiveBody(stream: Readable, options: BodyOptions): Promise<BodyEnd> {
  using intake = new BodyReceiver(stream, options);
  const end = await intake.ended;
  await intake.written;
  options.signal.throwIfAborted();
  return end;
}

class BodyReceiver implements Disposable {
  readonly #stream: Readable;
  readonly #options: BodyOptions;
  readonly #end = Promise.withResolvers<BodyEnd>();
  /** What came is copied here at once: what the network hands over is garbage by the megabyte otherwise. */
  #gathering = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  #spare = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  #gathered = 0;
  /** What found no room; the sender is held up until it has. */
  #waiting: Buffer[] = [];
  #skip: number;
  #wanted: number;
  #writing: Promise<void> | undefined;
  #writeError: { readonly error: unknown } | undefined;
  #isOver = false;
  #lastAt: number;
  #stall: Disposable;
  #pause: Disposable | undefined;

  constructor(stream: Readable, options: BodyOptions) {
    this.#stream = stream;
    this.#options = options;
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

  /** How it ended; what came until then may still be on its way to the disk. */
  get ended(): Promise<BodyEnd> {
    return this.#end.promise;
  }

  /** Resolves when everything that came is written. */
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
    const { clock, onReceived, throttle } = this.#options;
    onReceived(chunk.length);
    this.#lastAt = clock.monotonic();
    const known = Math.min(this.#skip, chunk.length);
    this.#skip -= known;
    const piece = chunk.subarray(known, known + this.#wanted);
    this.#wanted -= piece.length;
    if (piece.length > 0) this.#put(piece);
    if (this.#wanted === 0) {
      this.#finish({ kind: "complete" }, true);
      return;
    }
    const ahead = throttle.take(chunk.length);
    if (ahead >= MIN_PAUSE_MS) this.#pauseFor(ahead);
    else if (this.#waiting.length > 0) this.#stream.pause();
  };

  #put(piece: Buffer): void {
    this.#waiting.push(piece);
    this.#gather();
    this.#writing ??= this.#drain();
  }

  #gather(): void {
    for (let piece = this.#waiting[0]; piece && this.#gathered < BUFFER_BYTES; piece = this.#waiting[0]) {
      const copied = piece.copy(this.#gathering, this.#gathered);
      this.#gathered += copied;
      if (copied < piece.length) this.#waiting[0] = piece.subarray(copied);
      else this.#waiting.shift();
    }
  }

  async #drain(): Promise<void> {
    try {
      while (this.#gathered > 0) {
        const full = this.#gathering.subarray(0, this.#gathered);
        [this.#gathering, this.#spare] = [this.#spare, this.#gathering];
        this.#gathered = 0;
        this.#gather();
        await this.#options.write(full);
        this.#gather();
        if (this.#waiting.length === 0) this.#resume();
      }
    } catch (error) {
      this.#writeError = { error };
      this.#waiting = [];
      this.#gathered = 0;
      this.#finish({ kind: "cut", error });
    }
    this.#writing = undefined;
  }

  async #flushed(): Promise<void> {
    while (this.#writing) await this.#writing;
    if (this.#writeError) throw this.#writeError.error;
  }

  /** Takes nothing for a while, to keep the rate. What the network delivers meanwhile waits in the kernel. */
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

  /** Looks after `ms` milliseconds whether anything came meanwhile. A pause of our own is no silence of the sender. */
  #watch(ms: number): Disposable {
    const { clock, stallMs } = this.#options;
    return clock.timer(ms, () => {
      if (this.#isOver) return;
      const silent = this.#stream.isPaused() ? 0 : clock.monotonic() - this.#lastAt;
      if (silent >= stallMs) this.#finish({ kind: "stalled" });
      else this.#stall = this.#watch(stallMs - silent);
    });
  }

  #finish(end: BodyEnd, keepConnection = false): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stall[Symbol.dispose]();
    this.#pause?.[Symbol.dispose]();
    this.#stream.off("data", this.#onData);
    if (keepConnection) this.#drainToEnd();
    else if (!this.#stream.readableEnded) this.#stream.destroy();
    this.#end.resolve(end);
  }

  /** A body that ends where it should leaves its connection for the next request; one that goes on is cut off. */
  #drainToEnd(): void {
    const stream = this.#stream;
    const cutOff = (): void => void (stream.readableEnded || stream.destroy());
    stream.once("data", cutOff);
    stream.resume();
    const limit = this.#options.clock.timer(MAX_END_MS, cutOff);
    stream.once("close", () => limit[Symbol.dispose]());
  }
}
