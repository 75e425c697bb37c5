import { hash } from "node:crypto";
import { type Clock, unixNow } from "../../lib/clock.ts";
import type { SharedCount } from "../../lib/concurrency-limiter.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { type SharedFailures, type SignInAttempt, SignInThrottle } from "../core/people/sign-in-throttle.ts";
import { sourceOf } from "../core/people/source.ts";
import { emailKey, type User } from "../core/people/user.ts";
import type { Observer } from "../metrics/observer.ts";
import { createSecret, hashSecret } from "./secrets.ts";
import type { Store } from "../store/store.ts";
import type { PasswordHasher } from "./password-hasher.ts";

/** Longest token that is looked up; those of this service are shorter. */
export const MAX_TOKEN_LENGTH = 128;
const SHARED_NAME_LENGTH = 22;

export interface PasswordAttempt {
  readonly email: string;
  readonly password: string;
  /** Network address of the client. */
  readonly address: string;
  /** Value of the cookie that a sign-in left in the browser. */
  readonly browserToken: string | undefined;
  /** Gives the attempt up: the client has gone. */
  readonly signal?: AbortSignal | undefined;
}

export interface PasswordSignIn {
  /** As checked: the session must be opened for this one, not for one that is read again. */
  readonly user: User;
  /** The cookie for the browser, which makes it a known one of this user. */
  readonly browserToken: string;
}

export interface SignInGateOptions {
  readonly store: Pick<Store, "users" | "browsers">;
  readonly hasher: PasswordHasher;
  readonly clock: Clock;
  /** What other instances count; absent if there are none. */
  readonly shared?: SharedCount | undefined;
  readonly observer?: Pick<Observer, "bounded"> | undefined;
}

/**
 * Checks passwords, and slows down guessing without a lock that strangers could close: see `SignInThrottle`. An unknown
 * address is treated like any other.
 */
export class SignInGate {
  readonly #options: SignInGateOptions;
  readonly #throttle: SignInThrottle;

  constructor(options: SignInGateOptions) {
    this.#options = options;
    this.#throttle = new SignInThrottle(undefined, options.shared && toSharedFailures(options.shared));
  }

  /**
   * Returns the user who has proved to be one; `undefined` if the address, the password or the right to sign in is missing,
   * which the client is not told apart. Error: `TooManyRequests` with `details.retry_after_s`.
   */
  async signIn({
    email,
    password,
    address,
    browserToken,
    signal,
  }: PasswordAttempt): Promise<PasswordSignIn | undefined> {
    const { store, clock } = this.#options;
    const user = await store.users.findUserByEmail(email);
    const token = await this.#findKnownToken(user, browserToken);
    const attempt: SignInAttempt = {
      emailKey: emailKey(email),
      source: sourceOf(address),
      knownBrowser: token && sharedName(token),
    };
    const checked = await this.#check(user, password, attempt, signal);
    if (!checked) return undefined;
    const kept = token ?? createSecret("eb_");
    await store.browsers.remember(checked.id, hashSecret(kept), unixNow(clock));
    return { user: checked, browserToken: kept };
  }

  /**
   * Checks the password of a user who is signed in already, as before it is changed. Returns the user as checked; `undefined`
   * if the password is wrong. Error: `TooManyRequests` with `details.retry_after_s`.
   */
  async confirm(user: User, password: string, address: string, signal?: AbortSignal): Promise<User | undefined> {
    // Failures count for the user alone: no other user has this session.
    const attempt = {
      emailKey: emailKey(user.email),
      source: sourceOf(address),
      knownBrowser: `session of ${user.id}`,
    };
    return this.#check(user, password, attempt, signal);
  }

  async #check(
    user: User | undefined,
    password: string,
    attempt: SignInAttempt,
    signal: AbortSignal | undefined,
  ): Promise<User | undefined> {
    this.#begin(attempt);
    let checked: User | undefined;
    try {
      checked = await this.#compare(user, password, attempt, signal);
    } catch (error) {
      this.#throttle.withdraw(attempt, this.#now);
      throw error;
    }
    if (checked) this.#throttle.succeeded(attempt, this.#now);
    return checked;
  }

  #begin(attempt: SignInAttempt): void {
    const { dropped } = this.#throttle;
    const pauseS = Math.ceil(this.#throttle.begin(attempt, this.#now));
    if (this.#throttle.dropped > dropped) this.#options.observer?.bounded("sign_in_pauses_dropped");
    if (pauseS === 0) return;
    this.#options.observer?.bounded("sign_ins_per_source");
    throw new EdgeError("TooManyRequests", `Too many attempts to sign in have failed; try again in ${pauseS} s.`, {
      retry_after_s: pauseS,
    });
  }

  async #compare(
    user: User | undefined,
    password: string,
    { source, knownBrowser }: SignInAttempt,
    signal: AbortSignal | undefined,
  ): Promise<User | undefined> {
    const { hasher, store } = this.#options;
    const place = { source, goesFirst: knownBrowser !== undefined, signal };
    const { matches, needsRehash } = await hasher.check(password, user?.passwordHash, place);
    if (!matches || !user || user.isDisabled) return undefined;
    if (!needsRehash || user.passwordHash === undefined) return user;
    const stronger = await hasher.hash(password, place);
    const stored = await store.users.replaceHash(user.id, user.passwordHash, stronger);
    if (stored) return stored.isDisabled ? undefined : stored;
    // It was changed meanwhile: by another sign-in, or to another password.
    const now = await store.users.findUser(user.id);
    const again = await hasher.check(password, now?.passwordHash, place);
    return again.matches && !now?.isDisabled ? now : undefined;
  }

  async #findKnownToken(user: User | undefined, token: string | undefined): Promise<string | undefined> {
    if (!user || token === undefined || token.length > MAX_TOKEN_LENGTH) return undefined;
    const { store, clock } = this.#options;
    return (await store.browsers.isKnown(user.id, hashSecret(token), unixNow(clock))) ? token : undefined;
  }

  get #now(): number {
    return this.#options.clock.monotonic() / 1000;
  }
}

/** Addresses of people do not leave the instance: others are told hashes of what failures are counted for. */
function toSharedFailures(shared: SharedCount): SharedFailures {
  return {
    others: (name) => shared.others(sharedName(name)),
    set: (name, count, forS) => shared.set(sharedName(name), count, forS * 1000),
  };
}

function sharedName(text: string): string {
  return hash("sha256", text, "base64url").slice(0, SHARED_NAME_LENGTH);
}
