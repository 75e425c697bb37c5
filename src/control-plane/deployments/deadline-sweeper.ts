import type { Logger } from "../../lib/logger.ts";
import type { ServiceClock } from "../instances/service-clock.ts";
import { logStoreError } from "../store/unavailable.ts";

const RETRY_DELAY_MS = 5_000;

export interface DeadlineSweeperOptions {
  readonly clock: ServiceClock;
  readonly logger: Logger;
  /** Ends deployments that are due, a bounded number. Returns when the next one is due, in service time. */
  readonly expireDue: () => Promise<number | undefined>;
  /** For a store that other instances write to: how often it is read, in milliseconds, whatever this one knows. */
  readonly pollMs?: number | undefined;
}

/** Ends deployments whose deadline has passed, with one timer for the earliest deadline on record. */
export class DeadlineSweeper implements Disposable {
  readonly #options: DeadlineSweeperOptions;
  #armed: { readonly dueMs: number; readonly timer: Disposable } | undefined;
  #isSweeping = false;
  /** The earliest deadline that became known during a sweep. */
  #notedMs = Infinity;
  #disposed = false;

  constructor(options: DeadlineSweeperOptions) {
    this.#options = options;
  }

  /** Sets the timer for the earliest deadline in the store. */
  start(): void {
    void this.#sweep();
  }

  /** Must be called with the next deadline of a deployment after each change of it. That of an older version does no harm. */
  note(dueMs: number): void {
    this.#armFor(dueMs);
  }

  [Symbol.dispose](): void {
    this.#disposed = true;
    this.#armed?.timer[Symbol.dispose]();
    this.#armed = undefined;
  }

  #armFor(dueMs: number): void {
    if (this.#disposed) return;
    if (this.#isSweeping) {
      this.#notedMs = Math.min(this.#notedMs, dueMs);
      return;
    }
    if (this.#armed && this.#armed.dueMs <= dueMs) return;
    this.#armed?.timer[Symbol.dispose]();
    const { clock } = this.#options;
    const timer = clock.timer(Math.max(0, dueMs - clock.serviceNow()), () => void this.#sweep());
    this.#armed = { dueMs, timer };
  }

  async #sweep(): Promise<void> {
    // Fired already, unless this is the start.
    this.#armed?.timer[Symbol.dispose]();
    this.#armed = undefined;
    this.#isSweeping = true;
    const nextMs = await this.#expireDue();
    this.#isSweeping = false;
    const pollAtMs = this.#in(this.#options.pollMs);
    const dueMs = Math.min(nextMs, this.#notedMs, pollAtMs);
    this.#notedMs = Infinity;
    if (dueMs < Infinity) this.#armFor(dueMs);
  }

  async #expireDue(): Promise<number> {
    try {
      return (await this.#options.expireDue()) ?? Infinity;
    } catch (error) {
      const message = "cannot end deployments whose deadline has passed; trying again";
      logStoreError(this.#options.logger, error, {}, message);
      return this.#in(RETRY_DELAY_MS);
    }
  }

  #in(ms: number | undefined): number {
    return ms === undefined ? Infinity : this.#options.clock.serviceNow() + ms;
  }
}
