/** Where a full queue holds the sender back. */
export interface Inlet {
  pause(): void;
  resume(): void;
}

/** Most messages that wait for an earlier one to be dealt with. */
const CAPACITY = 64;

/** Deals with messages one after the other, and holds the sender back while too many wait. */
export class Inbox<T> {
  readonly #inlet: Inlet;
  readonly #handle: (message: T) => Promise<void>;
  readonly #onError: (error: unknown) => void;
  readonly #waiting: T[] = [];
  #isBusy = false;
  #round: Promise<void> = Promise.resolve();
  #isPaused = false;
  #isClosed = false;

  /** @param onError called with what `handle` threw; nothing is handled after that */
  constructor(inlet: Inlet, handle: (message: T) => Promise<void>, onError: (error: unknown) => void) {
    this.#inlet = inlet;
    this.#handle = handle;
    this.#onError = onError;
  }

  push(message: T): void {
    if (this.#isClosed) return;
    this.#waiting.push(message);
    if (this.#waiting.length >= CAPACITY && !this.#isPaused) {
      this.#isPaused = true;
      this.#inlet.pause();
    }
    if (!this.#isBusy) this.#round = this.#run();
  }

  /** Drops what waits; what is being dealt with is dealt with to its end. */
  close(): void {
    this.#isClosed = true;
    this.#waiting.length = 0;
  }

  /** Resolves when nothing is being dealt with. */
  idle(): Promise<void> {
    return this.#round;
  }

  async #run(): Promise<void> {
    this.#isBusy = true;
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
        await this.#handle(next);
        this.#relieve();
      }
    } catch (error) {
      this.close();
      this.#onError(error);
    } finally {
      this.#isBusy = false;
    }
  }

  #relieve(): void {
    if (!this.#isPaused || this.#waiting.length > 0) return;
    this.#isPaused = false;
    this.#inlet.resume();
  }
}
