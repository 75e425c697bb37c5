import type { Clock } from "../../../lib/clock.ts";

/** Paused while the queue is full. */
export interface PausableSource {
  pause(): void;
  resume(): void;
}

/** Number and size of waiting messages at which the source is paused. */
const MAX_WAITING_MESSAGES = 64;
export const MAX_WAITING_BYTES = 1024 * 1024;

/** Longest uninterrupted run in milliseconds, before other connections get their turn. */
const MAX_SLICE_MS = 10;

interface QueuedMessage<T> {
  readonly message: T;
  readonly bytes: number;
}

/**
 * Handles messages one after the other, and pauses their source while too many wait. Yields to other connections in
 * between, however many wait.
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

  /** @param onError called with the error of `handle`; the queue is closed by then */
  constructor(
    clock: Pick<Clock, "monotonic">,
    source: PausableSource,
    handle: (message: T) => Promise<void>,
    onError: (error: unknown) => void,
  ) {
    this.#clock = clock;
    this.#source = source;
    this.#handle = handle;
    this.#onError = onError;
  }

  /** @param bytes size of the message */
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

  /** Pauses the source, and handles nothing until then. Must be called before the first message. */
  pauseUntil(ready: Promise<void>): void {
    this.#isBusy = true;
    this.#isPaused = true;
    this.#source.pause();
    this.#running = ready.then(() => {
      if (this.#waiting.length === 0) this.#isBusy = false;
      this.#resumeWhenEmpty();
      return this.#isBusy ? this.#run() : undefined;
    });
  }

  /** Drops the waiting messages. The current one is handled to its end. */
  close(): void {
    this.#isClosed = true;
    this.#waiting.length = 0;
  }

  /** Resolves when no message is being handled. */
  whenIdle(): Promise<void> {
    return this.#running;
  }

  async #run(): Promise<void> {
    this.#isBusy = true;
    let startedAt = this.#clock.monotonic();
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
        this.#waitingBytes -= next.bytes;
        await this.#handle(next.message);
        this.#resumeWhenEmpty();
        if (this.#waiting.length === 0 || this.#clock.monotonic() - startedAt < MAX_SLICE_MS) continue;
        await yieldToEventLoop();
        startedAt = this.#clock.monotonic();
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
