import type { Clock } from "../../../lib/clock.ts";
import { orAborted } from "../../../lib/abort.ts";
import { SimOperatorError } from "../sim-operator.ts";
import type { Authorization } from "./authorization.ts";
import { silent } from "./operator-errors.ts";
import { OperatorOutage } from "./outage.ts";
import { REFUSED_PAUSE_MS } from "./refusals.ts";

export interface Token {
  readonly value: string;
  /** Milliseconds from now on, as the operator says; `undefined`: until it is rejected. */
  readonly lifetimeMs: number | undefined;
}

/** Renewed this long before its end, or at half of its lifetime if that is shorter. */
const MARGIN_MS = 60_000;
/** A token is used for this long even if it has ended by this machine's clock, which may be wrong: the operator decides. */
const MIN_HELD_MS = 30_000;
/** Renewals in any time of this length. Operators limit them, and tokens that are refused at once do not get better by more. */
const MAX_RENEWALS = 5;
const RENEWALS_PER_MS = 150_000;

/** A token that is kept in memory and renewed before it ends. One renewal goes on at a time, for all who wait for it. */
export class TokenAuthorization implements Authorization {
  readonly #clock: Clock;
  readonly #renew: (signal: AbortSignal) => Promise<Token>;
  /** When the last ones began, in monotonic milliseconds. */
  #renewedMs: readonly number[] = [];
  readonly #outage: OperatorOutage;
  #held: { readonly header: string; readonly untilMs: number } | undefined;
  #renewal: Promise<string> | undefined;
  #refused: { readonly error: unknown; readonly untilMs: number } | undefined;

  /** @param renew asks for a new token; bounded in time by itself: the signal of one caller must not end what others wait for */
  constructor(clock: Clock, renew: (signal: AbortSignal) => Promise<Token>) {
    this.#clock = clock;
    this.#renew = renew;
    this.#outage = new OperatorOutage(clock, 1);
  }

  async header(signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    const now = this.#clock.monotonic();
    if (this.#held && now < this.#held.untilMs) return this.#held.header;
    if (this.#refused && now < this.#refused.untilMs) throw this.#refused.error;
    if (this.#outage.isOn) throw silent();
    this.#renewal ??= this.#start().finally(() => (this.#renewal = undefined));
    return orAborted(this.#renewal, signal);
  }

  reject(header: string): boolean {
    if (this.#held?.header === header) this.#held = undefined;
    return true;
  }

  #countRenewal(): void {
    const nowMs = this.#clock.monotonic();
    this.#renewedMs = this.#renewedMs.filter((atMs) => atMs > nowMs - RENEWALS_PER_MS);
    const [first = nowMs] = this.#renewedMs;
    if (this.#renewedMs.length >= MAX_RENEWALS) throw deadTokens(first + RENEWALS_PER_MS - nowMs);
    this.#renewedMs = [...this.#renewedMs, nowMs];
  }

  async #start(): Promise<string> {
    try {
      this.#countRenewal();
      const { value, lifetimeMs = Infinity } = await this.#outage.watch(() =>
        this.#renew(new AbortController().signal),
      );
      const header = `Bearer ${value}`;
      const heldMs = Math.max(lifetimeMs - MARGIN_MS, lifetimeMs / 2, MIN_HELD_MS);
      this.#refused = undefined;
      this.#held = { header, untilMs: this.#clock.monotonic() + heldMs };
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
  return retryAfterMs ?? (failure === "credentials" ? REFUSED_PAUSE_MS : undefined);
}

function deadTokens(retryAfterMs: number): SimOperatorError {
  const text = "it does not accept the tokens that it gives; no more are asked for at the moment";
  return new SimOperatorError(text, false, { failure: "credentials", retryAfterMs });
}
