import type { Clock } from "../../../lib/clock.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import type { Observer } from "../../metrics/observer.ts";

/** Wrong codes that one person may type in `WINDOW_MS`. A code has 40 bits, and lasts for 10 minutes. */
const MAX_WRONG_CODES = 20;
const WINDOW_MS = 600_000;
/** People with wrong codes that are remembered; beyond it the oldest is forgotten. */
const MAX_PEOPLE = 10_000;

/** Slows down guessing of the codes of log-in requests. Uses no memory for people who type none wrong. */
export class WrongCodeLimiter {
  readonly #clock: Clock;
  readonly #observer: Pick<Observer, "bounded"> | undefined;
  readonly #windows = new Map<string, { readonly endsAt: number; count: number }>();

  constructor(clock: Clock, observer?: Pick<Observer, "bounded">) {
    this.#clock = clock;
    this.#observer = observer;
  }

  /** Error: `TooManyRequests` after too many wrong codes. */
  requireAllowed(userId: string): void {
    const window = this.#windows.get(userId);
    const leftMs = window ? window.endsAt - this.#clock.monotonic() : 0;
    if (leftMs <= 0) this.#windows.delete(userId);
    if (!window || leftMs <= 0 || window.count < MAX_WRONG_CODES) return;
    this.#observer?.bounded("wrong_login_codes");
    const seconds = Math.ceil(leftMs / 1000);
    throw new EdgeError("TooManyRequests", `Too many codes were wrong; try again in ${seconds} s.`, {
      retry_after_s: seconds,
    });
  }

  record(userId: string): void {
    const window = this.#windows.get(userId);
    if (window) {
      window.count++;
      return;
    }
    const [oldest] = this.#windows.size >= MAX_PEOPLE ? this.#windows.keys() : [];
    if (oldest !== undefined) this.#windows.delete(oldest);
    this.#windows.set(userId, { endsAt: this.#clock.monotonic() + WINDOW_MS, count: 1 });
  }
}
