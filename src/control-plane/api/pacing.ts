import type { FastifyRequest } from "fastify";
import type { Clock } from "../../lib/clock.ts";
import { ConcurrencyLimiter } from "../../lib/concurrency-limiter.ts";
import { KeyedLock } from "../../lib/keyed-lock.ts";
import { KeyedRateLimiters } from "../../lib/keyed-rate-limiters.ts";
import { MAX_APPLY_BYTES } from "../../protocol/apps/apply.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { sourceOf } from "../core/people/source.ts";
import type { Bound, Observer } from "../metrics/observer.ts";
import type { Principal } from "../accounts/principal.ts";
import { MAX_SECRET_LENGTH } from "../accounts/principal-reader.ts";
import { ProcessorShares } from "../../lib/processor-shares.ts";
import { hashSecret } from "../accounts/secrets.ts";

/** `rate_limit_per_minute` that the paces below are for. They grow with a higher one. */
const BASE_PER_MINUTE = 600;

/** Requests of one account: burst, and rate per second. */
export const MAX_BURST_REQUESTS = 30;
export const MAX_REQUESTS_PER_SECOND = 50;
/** A request counts as one more for each of these many bytes of its body, up to the most that it may have. */
export const BYTES_PER_EXTRA_REQUEST = 32 * 1024;
/** Requests of one address whose credential is none, or was not seen before. */
export const MAX_BURST_UNKNOWN = 60;
export const MAX_UNKNOWN_PER_SECOND = 10;
/** Milliseconds of the processor for the bodies of one account: burst, and rate per second. */
export const MAX_BURST_BODY_MS = 50;
export const MAX_BODY_MS_PER_SECOND = 5;
/** Bodies of one account that wait to be read. */
const MAX_WAITING_BODIES = 16;
/** Longest wait of a request for its turn. */
const MAX_PACE_WAIT_MS = 5_000;

/** Credentials that are remembered with their account. */
const MAX_KNOWN = 5_000;

export interface PacingOptions {
  readonly perMinute: number;
  readonly clock: Clock;
  readonly observer?: Observer | undefined;
}

/**
 * Spreads the requests of each account, and of each address without a valid credential, so that many at once do not keep those of
 * others waiting. Above the pace requests wait; what would wait too long is refused with `TooManyRequests`.
 */
export class Pacing {
  readonly #options: PacingOptions;
  readonly #requests: KeyedRateLimiters;
  readonly #unknown: KeyedRateLimiters;
  readonly #shares: ProcessorShares;
  readonly #bodyTurns = new KeyedLock();
  readonly #waitingBodies: ConcurrencyLimiter;
  /** Accounts by the hash of a credential that was valid. Says only whose pace counts, never who may do what. */
  readonly #accounts = new Map<string, string>();
  readonly #lookUps = new Map<string, Promise<unknown>>();
  readonly #validating = new WeakMap<FastifyRequest, { readonly bytes: number; since: number }>();

  constructor(options: PacingOptions) {
    this.#options = options;
    const { perMinute, clock, observer } = options;
    const scale = Math.max(1, perMinute / BASE_PER_MINUTE);
    this.#requests = new KeyedRateLimiters(clock, MAX_BURST_REQUESTS * scale, MAX_REQUESTS_PER_SECOND * scale);
    this.#unknown = new KeyedRateLimiters(clock, MAX_BURST_UNKNOWN * scale, MAX_UNKNOWN_PER_SECOND * scale);
    this.#shares = new ProcessorShares(clock, MAX_BURST_BODY_MS * scale, MAX_BODY_MS_PER_SECOND * scale);
    this.#waitingBodies = new ConcurrencyLimiter(
      MAX_WAITING_BODIES,
      "Too many large requests of the account wait.",
      undefined,
      () => observer?.bounded("requests_per_account"),
    );
  }

  /**
   * Looks up whose a credential is, when it is the turn of the request: before that it costs the database nothing.
   *
   * @param secret the credential as it was sent; anything but a text is none
   */
  async authenticate<P extends Principal>(
    { ip, headers, routeOptions }: FastifyRequest,
    secret: unknown,
    lookUp: () => Promise<P | undefined>,
  ): Promise<P | undefined> {
    // What is announced costs nothing: more than the request may have is not read.
    const bytes = Math.min(bodyBytes(headers), routeOptions.bodyLimit);
    const count = 1 + Math.floor(bytes / BYTES_PER_EXTRA_REQUEST);
    const isPossible = typeof secret === "string" && secret !== "" && secret.length <= MAX_SECRET_LENGTH;
    const id = isPossible ? Buffer.from(hashSecret(secret)).toString("latin1") : undefined;
    // The first of several requests with a new credential finds out whose it is. The others wait for it.
    for (let lookUp = this.#lookUpOf(id); lookUp; lookUp = this.#lookUpOf(id)) await lookUp;
    const account = id === undefined ? undefined : this.#accounts.get(id);
    if (id === undefined || account === undefined) return this.#authenticateUnknown(id, sourceOf(ip), count, lookUp);
    await this.#enter(this.#requests, account, count, "requests_per_account");
    const principal = await lookUp();
    if (!principal) this.#accounts.delete(id);
    return principal;
  }

  /** Reads a body when the account, or the address of a client without one, is within its share of the processor. */
  async readBody<T>(request: FastifyRequest, bytes: number, read: () => T): Promise<T> {
    const party = partyOf(request);
    this.#validating.set(request, { bytes, since: Infinity });
    using _slot = this.#waitingBodies.acquire(party);
    using _turn = await this.#bodyTurns.acquire(party);
    const waitMs = this.#shares.waitMs(party);
    if (waitMs > 0) await this.#options.clock.sleep(waitMs);
    return this.#shares.run(party, bytes, read);
  }

  /** Must be called before a request is validated. */
  beginValidation(request: FastifyRequest): void {
    const validating = this.#validating.get(request);
    if (validating) validating.since = this.#options.clock.monotonic();
  }

  /** Charges the time of the validation. Must be called when it is over; again does no harm. */
  endValidation(request: FastifyRequest): void {
    const validating = this.#validating.get(request);
    if (!validating) return;
    this.#validating.delete(request);
    this.#shares.charge(partyOf(request), validating.bytes, validating.since);
  }

  async #authenticateUnknown<P extends Principal>(
    id: string | undefined,
    source: string,
    count: number,
    lookUp: () => Promise<P | undefined>,
  ): Promise<P | undefined> {
    const isOver = Promise.withResolvers<void>();
    if (id !== undefined) this.#lookUps.set(id, isOver.promise);
    try {
      await this.#enter(this.#unknown, source, count, "refused_per_address");
      const principal = await lookUp();
      if (!principal) return undefined;
      this.#unknown.of(source).charge(-count);
      this.#requests.of(principal.accountId).charge(count);
      if (id !== undefined) this.#remember(id, principal.accountId);
      return principal;
    } finally {
      if (id !== undefined) this.#lookUps.delete(id);
      isOver.resolve();
    }
  }

  #lookUpOf(id: string | undefined): Promise<unknown> | undefined {
    return id === undefined ? undefined : this.#lookUps.get(id);
  }

  #remember(id: string, account: string): void {
    const [oldest] = this.#accounts.keys();
    if (this.#accounts.size >= MAX_KNOWN && oldest !== undefined) this.#accounts.delete(oldest);
    this.#accounts.set(id, account);
  }

  async #enter(paces: KeyedRateLimiters, key: string, count: number, bound: Bound): Promise<void> {
    if (await paces.enter(key, MAX_PACE_WAIT_MS, count)) return;
    this.#options.observer?.bounded(bound);
    throw new EdgeError("TooManyRequests", "Too many requests at once; try again in a few seconds.");
  }
}

/** Bytes that the body has as announced, or may have. */
export function bodyBytes(headers: NodeJS.Dict<string | string[]>): number {
  return headers["transfer-encoding"] === undefined ? Number(headers["content-length"] ?? 0) : MAX_APPLY_BYTES;
}

function partyOf({ principal, ip }: FastifyRequest): string {
  return principal?.accountId ?? sourceOf(ip);
}
