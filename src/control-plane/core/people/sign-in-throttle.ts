import { addFailure, type Failures, pauseLeft, type PausePolicy, rememberedFailures, removeFailure } from "./pause.ts";

/** An attempt to sign in with a password. */
export interface SignInAttempt {
  /** The address in the form that is compared. A user with it need not exist. */
  readonly emailKey: string;
  /** What `sourceOf` returns for the client. */
  readonly source: string;
  /** Identifies a browser in which the user of this address has signed in before; it has proved that with its token. */
  readonly knownBrowser: string | undefined;
}

/** Failures with one address from one source, or in one known browser. */
export const PAIR_POLICY: PausePolicy = { free: 5, firstPauseS: 1, maxPauseS: 900, forgetS: 900 };
/** Failures from one source, which people of one site share, with any address. */
export const SOURCE_POLICY: PausePolicy = { free: 20, firstPauseS: 1, maxPauseS: 60, forgetS: 60 };

/** Maximum of what is remembered. */
export const MAX_REMEMBERED_PAUSES = 50_000;
/** A single failure counts at its own instance only; the other instances of the service need not know of it. */
const MIN_SHARED_FAILURES = 2;

/** Failures that other instances of the service count, by the name of what they count for. */
export interface SharedFailures {
  others(name: string): number;
  /** @param forS after this time the count is over, in seconds */
  set(name: string, count: number, forS: number): void;
}

interface Bucket {
  readonly name: string;
  readonly policy: PausePolicy;
}

/**
 * Slows down the guessing of passwords. What strangers do never makes a person wait who signs in from a source of their own,
 * or in a browser they have used before: failures count for the pair of address and source, and for the source, and
 * those of a known browser for itself alone. There is no count for an address alone, which any stranger could drive up.
 *
 * Has no clock: its caller passes the seconds of one that does not jump.
 */
export class SignInThrottle {
  readonly #maxEntries: number;
  readonly #shared: SharedFailures | undefined;
  /** In order of the last failure. */
  readonly #failures = new Map<string, Failures & { readonly policy: PausePolicy }>();
  #dropped = 0;

  /** @param shared what other instances count is added; each one lets at least one attempt through after its pause */
  constructor(maxEntries = MAX_REMEMBERED_PAUSES, shared?: SharedFailures) {
    this.#maxEntries = maxEntries;
    this.#shared = shared;
  }

  /** How often a pause was forgotten early because there were too many. */
  get dropped(): number {
    return this.#dropped;
  }

  get size(): number {
    return this.#failures.size;
  }

  /**
   * Returns how long to wait before this attempt, in seconds. If that is 0, the attempt counts as failed until `succeeded` is
   * called, so that attempts at the same time count too.
   */
  begin(attempt: SignInAttempt, now: number): number {
    const buckets = bucketsOf(attempt);
    const pause = Math.max(...buckets.map(({ name, policy }) => pauseLeft(this.#totalOf(name), now, policy)));
    if (pause > 0) return pause;
    for (const { name, policy } of buckets)
      this.#keep(name, addFailure(this.#failures.get(name), now, policy), policy, now);
    return 0;
  }

  /** The attempt has succeeded. Failures with other addresses from its source still count: they may be guesses. */
  succeeded(attempt: SignInAttempt, now: number): void {
    const [own, ...others] = bucketsOf(attempt);
    if (own) this.#forget(own.name);
    this.#takeBack(others, now);
  }

  /** The attempt was given up before the password was looked at. */
  withdraw(attempt: SignInAttempt, now: number): void {
    this.#takeBack(bucketsOf(attempt), now);
  }

  #totalOf(name: string): Failures | undefined {
    const own = this.#failures.get(name);
    return own && { ...own, count: own.count + (this.#shared?.others(name) ?? 0) };
  }

  #takeBack(buckets: readonly Bucket[], now: number): void {
    for (const { name, policy } of buckets) {
      const failures = this.#failures.get(name);
      const left = failures && removeFailure(failures, now, policy);
      if (!left) this.#forget(name);
      else {
        this.#failures.set(name, { ...left, policy });
        this.#share(name, left.count, policy);
      }
    }
  }

  #forget(name: string): void {
    if ((this.#failures.get(name)?.count ?? 0) >= MIN_SHARED_FAILURES) this.#shared?.set(name, 0, 0);
    this.#failures.delete(name);
  }

  #share(name: string, count: number, { forgetS }: PausePolicy): void {
    if (count >= MIN_SHARED_FAILURES) this.#shared?.set(name, count, forgetS);
  }

  #keep(name: string, failures: Failures, policy: PausePolicy, now: number): void {
    this.#failures.delete(name);
    const [oldest] = this.#failures.size >= this.#maxEntries ? this.#failures : [];
    if (oldest) {
      const [oldName, old] = oldest;
      if (rememberedFailures(old, now, old.policy) > 0) this.#dropped++;
      this.#failures.delete(oldName);
    }
    this.#failures.set(name, { ...failures, policy });
    this.#share(name, failures.count, policy);
  }
}

/** The counts that an attempt belongs to; the first is its own. */
function bucketsOf({ emailKey, source, knownBrowser }: SignInAttempt): readonly Bucket[] {
  if (knownBrowser !== undefined)
    return [{ name: JSON.stringify(["browser", emailKey, knownBrowser]), policy: PAIR_POLICY }];
  return [
    { name: JSON.stringify(["pair", emailKey, source]), policy: PAIR_POLICY },
    { name: JSON.stringify(["source", source]), policy: SOURCE_POLICY },
  ];
}
