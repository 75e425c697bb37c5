import type { Clock } from "../../../lib/clock.ts";
import { SimOperatorError } from "../sim-operator.ts";
import type { Authorization } from "./authorization.ts";

export interface Token {
  readonly value: string;
  /** Milliseconds from now on, as the operator says; `undefined`: until it is rejected. */
  readonly lifetimeMs: number | undefined;
}

/** Renewed this long before its end, or at half of its lifetime if that is shorter. */
const MARGIN_MS = 60_000;
/** Pause after credentials that were refused: they do not become right by asking again, and operators count such requests. */
const REFUSED_PAUSE_MS = 60_000;

/** A token that is kept in memory and renewed before it ends. One renewal goes on at a time, for all who wait for it. */
export class TokenAuthorization implements Authorization {
  readonly #clock: Clock;
  readonly #renew: (signal: AbortSignal) => Promise<Token>;
  #held: { readonly header: string; readonly untilMs: number } | undefined;
  #renewal: Promise<string> | undefined;
  #refused: { readonly error: unknown; readonly untilMs: number } | undefined;

  /** @param renew asks for a new token; bounded in time by itself, as nobody's signal ends what others wait for */
  constructor(clock: Clock, renew: (signal: AbortSignal) => Promise<Token>) {
    this.#clock = clock;
    this.#renew = renew;
  }

  async header(signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    const now = this.#clock.monotonic();
    if (this.#held && now < this.#held.untilMs) return this.#held.header;
    if (this.#refused && now < this.#refused.untilMs) throw this.#refused.error;
    this.#renewal ??= this.#start().finally(() => (this.#renewal = undefined));
    return orAborted(this.#renewal, signal);
  }

  reject(header: string): boolean {
    if (this.#held?.header === header) this.#held = undefined;
    return true;
  }

  async #start(): Promise<string> {
    try {
      const { value, lifetimeMs = Infinity } = await this.#renew(new AbortController().signal);
      const header = `Bearer ${value}`;
      this.#refused = undefined;
      this.#held = { header, untilMs: this.#clock.monotonic() + Math.max(lifetimeMs - MARGIN_MS, lifetimeMs / 2) };
      return header;
    } catch (error) {
      const pauseMs = error instanceof SimOperatorError ? pauseAfter(error) : undefined;
      if (pauseMs !== undefined) this.#refused = { error, untilMs: this.#clock.monotonic() + pauseMs };
      throw error;
    }
  }
}

/** How long asking for a token again makes no sense, in milliseconds; `undefined`: it may. */
function pauseAfter({ failure, retryAfterMs }: SimOperatorError): number | undefined {
  return failure === "credentials" ? REFUSED_PAUSE_MS : retryAfterMs;
}

async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
