import type { Clock } from "../../../lib/clock.ts";
import type { SimOperatorError } from "../sim-operator.ts";

/** They do not become right by asking again, and operators count such requests. */
export const REFUSED_PAUSE_MS = 60_000;
/** A single one may be about a SIM that belongs to others. */
const MAX_FORBIDDEN = 3;

interface Refused {
  inARow: number;
  untilMs: number;
  error: SimOperatorError;
}

/**
 * The pauses after refused credentials. Those that are not accepted (401) are not sent for a minute; a kind of request that they do
 * not allow (403), three times in a row, is not made for a minute. Each begins anew with the next refusal.
 */
export class Refusals {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #forbidden = new Map<string, Refused>();
  #unauthorized: Refused | undefined;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** Throws the last refusal if such a request makes no sense at the moment. */
  check(method: string, { pathname }: URL): void {
    const nowMs = this.#clock.monotonic();
    for (const refused of [this.#unauthorized, this.#forbidden.get(kindOf(method, pathname))])
      if (refused && nowMs < refused.untilMs) throw refused.error;
  }

  /** The request was answered. @param refusal `undefined`: it was allowed */
  note(method: string, { pathname }: URL, status: number, refusal: SimOperatorError | undefined): void {
    const untilMs = this.#clock.monotonic() + REFUSED_PAUSE_MS;
    if (refusal && status === 401) {
      this.#unauthorized = { inARow: 1, untilMs, error: refusal };
      return;
    }
    this.#unauthorized = undefined;
    const kind = kindOf(method, pathname);
    if (!refusal) {
      this.#forbidden.delete(kind);
      return;
    }
    const inARow = (this.#forbidden.get(kind)?.inARow ?? 0) + 1;
    this.#forbidden.set(kind, { inARow, untilMs: inARow < MAX_FORBIDDEN ? 0 : untilMs, error: refusal });
  }
}

/** Which permission a request needs: the path without the ids in it. There are few. */
function kindOf(method: string, pathname: string): string {
  return `${method} ${pathname.replaceAll(/[^/]*\d[^/]*/g, "*")}`;
}
