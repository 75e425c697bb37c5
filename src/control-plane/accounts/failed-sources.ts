import type { Clock } from "../../lib/clock.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { addFailure, type Failures, pauseLeft } from "../core/people/pause.ts";
import { SOURCE_POLICY } from "../core/people/sign-in-throttle.ts";
import { sourceOf } from "../core/people/source.ts";

/** Sources with failures that are remembered; beyond it the one that failed longest ago is forgotten. */
const MAX_SOURCES = 10_000;

/** Slows down sources whose attempts fail, as `SignInThrottle` does for passwords. */
export class FailedSources {
  readonly #clock: Clock;
  /** In the order of the last failure. */
  readonly #failures = new Map<string, Failures>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Error: `TooManyRequests` with `details.retry_after_s`. @param address network address of the client */
  requireAllowed(address: string): void {
    const seconds = Math.ceil(pauseLeft(this.#failures.get(sourceOf(address)), this.#now, SOURCE_POLICY));
    if (seconds === 0) return;
    throw new EdgeError("TooManyRequests", `Too many attempts have failed; try again in ${seconds} s.`, {
      retry_after_s: seconds,
    });
  }

  record(address: string): void {
    const source = sourceOf(address);
    const failures = addFailure(this.#failures.get(source), this.#now, SOURCE_POLICY);
    this.#failures.delete(source);
    const [oldest] = this.#failures.size >= MAX_SOURCES ? this.#failures.keys() : [];
    if (oldest !== undefined) this.#failures.delete(oldest);
    this.#failures.set(source, failures);
  }

  get #now(): number {
    return this.#clock.monotonic() / 1000;
  }
}
