import type { FakeClock } from "./fake-clock.ts";

/** Bytes that the system takes before a message waits in the process, as the kernel's send buffer does. */
const SYSTEM_BUFFER_BYTES = 2 * 1024 * 1024;

/** One direction of a link in simulated time: a queue that is emptied at a rate, then a delay. */
export class SimulatedLink {
  readonly #clock: FakeClock;
  readonly #bytesPerMs: number;
  readonly #delayMs: number;
  readonly #onTaken: () => void;
  /** When the queue will be empty. */
  #freeAt = 0;

  /** @param onTaken called when a message that had to wait for the system was taken */
  constructor(clock: FakeClock, bytesPerSecond: number, delayMs: number, onTaken: () => void = () => undefined) {
    this.#clock = clock;
    this.#bytesPerMs = bytesPerSecond / 1000;
    this.#delayMs = delayMs;
    this.#onTaken = onTaken;
  }

  get bufferedAmount(): number {
    return Math.max(0, this.#queued() - SYSTEM_BUFFER_BYTES);
  }

  send(bytes: number, onArrival: () => void): void {
    this.#freeAt = Math.max(this.#freeAt, this.#clock.monotonic()) + bytes / this.#bytesPerMs;
    const wait = this.#freeAt - this.#clock.monotonic();
    this.#clock.timer(wait, this.#onTaken);
    this.#clock.timer(wait + this.#delayMs, onArrival);
  }

  #queued(): number {
    return Math.max(0, this.#freeAt - this.#clock.monotonic()) * this.#bytesPerMs;
  }
}
