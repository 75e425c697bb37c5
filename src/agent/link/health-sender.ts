import type { Clock } from "../../lib/clock.ts";
import { HealthMessageWriter } from "../../protocol/link/health-message.ts";
import type { HealthSource } from "./ports.ts";

export interface HealthSenderOptions {
  readonly health: HealthSource;
  readonly clock: Clock;
  readonly send: (bytes: Uint8Array) => void;
  /** Start of the newest row that the control plane has. */
  readonly confirmedAt: number | undefined;
}

/**
 * Sends over one session how the device was: beside other traffic, when a message is due, and without any some time later, or at once if it is due early. Nothing
 * of it is acknowledged within the session: the control plane stores what arrives, in order, or the session ends.
 */
export class HealthSender implements Disposable {
  readonly #options: HealthSenderOptions;
  readonly #writer = new HealthMessageWriter();
  #sentAt: number | undefined;
  #timer: Disposable;
  readonly #watching: Disposable;

  constructor(options: HealthSenderOptions) {
    this.#options = options;
    this.#sentAt = options.confirmedAt;
    this.#timer = this.#arm();
    this.#watching = options.health.onEarly(() => {
      this.#timer[Symbol.dispose]();
      this.#timer = this.#arm();
    });
  }

  /** There is other traffic on the link. */
  onTraffic(): void {
    const { health, clock } = this.#options;
    if (clock.monotonic() >= health.due.earliestMs) this.#send();
  }

  [Symbol.dispose](): void {
    this.#watching[Symbol.dispose]();
    this.#timer[Symbol.dispose]();
  }

  #arm(): Disposable {
    const { health, clock } = this.#options;
    return clock.timer(Math.max(0, health.due.latestMs - clock.monotonic()), () => this.#send());
  }

  #send(): void {
    this.#timer[Symbol.dispose]();
    const message = this.#options.health.take(this.#sentAt, this.#writer);
    this.#timer = this.#arm();
    if (!message) return;
    this.#sentAt = message.newestAt;
    this.#options.send(message.bytes);
  }
}
