import type { Clock } from "../../lib/clock.ts";

/** Where a full queue holds the sender back. */
export interface PausableSource {
  pause(): void;
  resume(): void;
}

/** Most messages, and bytes of them, that wait for an earlier one to be dealt with. */
const MAX_WAITING_MESSAGES = 64;
export const MAX_WAITING_BYTES = 1024 * 1024;

/** After so many milliseconds in a row all other connections have their turn. */
const MAX_SLICE_MS = 10;

interface QueuedMessage<T> {
  readonly message: T;
  readonly bytes: number;
}

/**
 * Deals with messages one after the other, and holds the sender back while too many wait. However many wait, all other
 * connections have their turn in between.
 */
export class MessageQueue<T> {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #source: PausableSource;
  readonly #handle: (message: T) => Promise<void>;
  readonly #onError: (error: unknown) => void;
  readonly #waiting: QueuedMessage<T>[] = [];
  #waitingBytes = 0;
  #isBusy = false;
  #running: Promise<void> = Promise.resolve();
  #isPaused = false;
  #isClosed = false;

  /** @param onError called with what `handle` threw; nothing is handled after that */
  constructor(
    clock: Pick<Clock, "monotonic">,
    inlet: PausableSource,
    handle: (message: T) => Promise<void>,
    onError: (error: unknown) => void,
  ) {
    this.#clock = clock;
    this.#source = inlet;
    this.#handle = handle;
    this.#onError = onError;
  }

  /** @param bytes what the message takes */
  push(message: T, bytes = 0): void {
    if (this.#isClosed) return;
    this.#waiting.push({ message, bytes });
    this.#waitingBytes += bytes;
    if (this.#isFull() && !this.#isPaused) {
      this.#isPaused = true;
      this.#source.pause();
    }
    if (!this.#isBusy) this.#running = this.#run();
  }

  /** Drops what waits; what is being dealt with is dealt with to its end. */
  close(): void {
    this.#isClosed = true;
    this.#waiting.length = 0;
  }

  /** Resolves when nothing is being dealt with. */
  whenIdle(): Promise<void> {
    return this.#running;
  }

  async #run(): Promise<void> {
    this.#isBusy = true;
    let began = this.#clock.monotonic();
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
        this.#waitingBytes -= next.bytes;
        await this.#handle(next.message);
        this.#resumeWhenEmpty();
        if (this.#waiting.length === 0 || this.#clock.monotonic() - began < MAX_SLICE_MS) continue;
        await yieldToEventLoop();
        began = this.#clock.monotonic();
      }
    } catch (error) {
      this.close();
      this.#onError(error);
    } finally {
      this.#isBusy = false;
    }
  }

  #isFull(): boolean {
    return this.#waiting.length >= MAX_WAITING_MESSAGES || this.#waitingBytes > MAX_WAITING_BYTES;
  }

  #resumeWhenEmpty(): void {
    if (!this.#isPaused || this.#waiting.length > 0) return;
    this.#isPaused = false;
    this.#source.resume();
  }
}

function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
