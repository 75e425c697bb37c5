import { type Clock, deadline } from "../../../lib/clock.ts";
import { fullJitter } from "../../../lib/backoff.ts";
import { RateLimiter } from "../../../lib/rate-limiter.ts";
import { Semaphore } from "../../../lib/semaphore.ts";
import { SimOperatorError } from "../sim-operator.ts";
import type { Authorization } from "./authorization.ts";
import { Pauses } from "./pauses.ts";
import { readJson } from "./read-response.ts";
import { parseRetryAfter } from "./retry-after.ts";

/** Requests at a time to one account of an operator. */
const MAX_PARALLEL = 4;
const ATTEMPTS = 3;
const BACKOFF = { baseMs: 200, maxMs: 2_000 };
/** For one request, from its turn until its last byte. */
const REQUEST_TIMEOUT_MS = 10_000;
/** Longer pauses are not waited for: the caller is told. */
const MAX_WAIT_MS = 5_000;

export interface OperatorHttpOptions {
  /** Such as `https://cdn.emnify.net`. Nothing is ever sent to another origin. */
  readonly baseUrl: string;
  readonly authorization: Authorization;
  readonly clock: Clock;
  /** Requests a second that the operator allows; the service stays below it. */
  readonly perSecond: number;
}

export interface OperatorRequest {
  readonly method: "GET" | "POST" | "PATCH";
  /** Path with query, or a URL of the same origin. */
  readonly path: string;
  readonly form?: URLSearchParams;
  readonly json?: unknown;
}

export interface OperatorResponse {
  readonly status: number;
  /** Parsed JSON; `undefined` without a body. */
  readonly body: unknown;
}

/**
 * Requests to one account of an operator: four at a time, within its rate, each bounded in time and size, repeated where that may
 * help, and not sent at all while the operator wants none. Equal reads that go on at the same time are one request.
 */
export class OperatorHttp {
  readonly #options: OperatorHttpOptions;
  readonly #origin: string;
  readonly #turns = new Semaphore(MAX_PARALLEL);
  readonly #rate: RateLimiter;
  readonly #pauses: Pauses;
  readonly #reads = new Map<string, Promise<OperatorResponse>>();

  constructor(options: OperatorHttpOptions) {
    const { clock, perSecond, baseUrl } = options;
    this.#options = options;
    this.#origin = new URL(baseUrl).origin;
    this.#rate = new RateLimiter(clock, perSecond, perSecond);
    this.#pauses = new Pauses(clock);
  }

  /** Returns the response with status 200 to 299, or 404 with `acceptsMissing`. Throws `SimOperatorError` for any other. */
  async send(request: OperatorRequest, signal: AbortSignal, acceptsMissing = false): Promise<OperatorResponse> {
    const url = this.#urlOf(request.path);
    const response = await (request.method === "GET" ? this.#share(url, signal) : this.#repeat(url, request, signal));
    if (response.status === 404 && acceptsMissing) return response;
    if (response.status >= 200 && response.status <= 299) return response;
    throw refusal(response);
  }

  /** Relative to the base URL's path; an absolute URL, such as of the next page, only at the same origin. */
  #urlOf(path: string): URL {
    const url = URL.parse(path, this.#options.baseUrl);
    if (url?.origin === this.#origin) return url;
    throw new SimOperatorError(`its answer leads to another server: ${url?.origin ?? "not a URL"}`, false, {
      failure: "malformed",
    });
  }

  /** All who ask the same at the same time get the same answer. It is asked for as long as the first of them waits. */
  async #share(url: URL, signal: AbortSignal): Promise<OperatorResponse> {
    const going = this.#reads.get(url.href);
    if (going) {
      try {
        return await going;
      } catch (error) {
        signal.throwIfAborted();
        // The one who asked has gone. Others ask for themselves.
        if (error instanceof SimOperatorError) throw error;
        return this.#share(url, signal);
      }
    }
    const read = this.#repeat(url, { method: "GET", path: url.href }, signal).finally(() =>
      this.#reads.delete(url.href),
    );
    this.#reads.set(url.href, read);
    return read;
  }

  async #repeat(url: URL, request: OperatorRequest, signal: AbortSignal): Promise<OperatorResponse> {
    const { clock } = this.#options;
    for (let attempt = 1; ; attempt++) {
      let error: SimOperatorError;
      try {
        return await this.#attempt(url, request, signal);
      } catch (cause) {
        signal.throwIfAborted();
        error = toOperatorError(cause);
      }
      const pauseMs = error.retryAfterMs ?? fullJitter(attempt, BACKOFF, Math.random());
      const mayPass = error.failure === "unavailable" || error.failure === "throttled";
      if (!mayPass || attempt === ATTEMPTS || pauseMs > MAX_WAIT_MS) throw error;
      await clock.sleep(pauseMs, signal);
    }
  }

  async #attempt(url: URL, request: OperatorRequest, signal: AbortSignal): Promise<OperatorResponse> {
    const { authorization } = this.#options;
    using _turn = await this.#turns.acquire(signal);
    await this.#rate.acquire(1, signal);
    signal.throwIfAborted();
    this.#throwIfPaused();
    const header = await authorization.header(signal);
    const response = await this.#fetch(url, request, header, signal);
    if (response.status !== 401 || !authorization.reject(header)) return response;
    // It may have ended, or was forgotten: a new one, once.
    return this.#fetch(url, request, await authorization.header(signal), signal);
  }

  #throwIfPaused(): void {
    const { remainingMs } = this.#pauses;
    if (remainingMs > 0) throw throttled(remainingMs);
  }

  async #fetch(
    url: URL,
    { method, form, json }: OperatorRequest,
    authorization: string,
    signal: AbortSignal,
  ): Promise<OperatorResponse> {
    const { clock } = this.#options;
    using limit = deadline(clock, REQUEST_TIMEOUT_MS, signal);
    const body = form ?? (json === undefined ? undefined : JSON.stringify(json));
    const response = await fetch(url, {
      method,
      // A redirect would take the credentials elsewhere.
      redirect: "error",
      headers: {
        Accept: "application/json",
        Authorization: authorization,
        ...(json !== undefined && { "Content-Type": "application/json" }),
      },
      ...(body !== undefined && { body }),
      signal: limit.signal,
    });
    const { status, headers } = response;
    if (status === 429 || status === 503) {
      await response.body?.cancel();
      const retryAfterMs = parseRetryAfter(headers.get("retry-after"), clock.now());
      if (status === 429 || retryAfterMs !== undefined) throw throttled(this.#pauses.begin(retryAfterMs));
    }
    if (status >= 500) {
      await response.body?.cancel();
      throw new SimOperatorError(`it answered ${status}`, false, { failure: "unavailable" });
    }
    this.#pauses.end();
    // The page of a proxy or a gateway may come with any status; of refusals the status alone counts.
    const parsed = await readJson(response).catch((error: unknown) => {
      if (status >= 400 && error instanceof SimOperatorError) return undefined;
      throw error;
    });
    return { status, body: parsed };
  }
}

function throttled(retryAfterMs: number): SimOperatorError {
  const seconds = Math.ceil(retryAfterMs / 1000);
  return new SimOperatorError(`it wants no requests for ${seconds} s`, false, { failure: "throttled", retryAfterMs });
}

/** What a status of 300 to 499 means, with the operator's own message. */
function refusal({ status, body }: OperatorResponse): SimOperatorError {
  const said = typeof body === "object" && body !== null && "message" in body ? body.message : undefined;
  const text = `it answered ${status}${typeof said === "string" ? `: ${said.slice(0, 200)}` : ""}`;
  if (status === 401 || status === 403) return new SimOperatorError(text, false, { failure: "credentials" });
  return new SimOperatorError(text, false, { failure: status === 404 ? "not_found" : "refused" });
}

function toOperatorError(cause: unknown): SimOperatorError {
  if (cause instanceof SimOperatorError) return cause;
  const timedOut = cause instanceof DOMException && cause.name === "TimeoutError";
  const text = timedOut ? `it did not answer within ${REQUEST_TIMEOUT_MS / 1000} s` : `it cannot be reached`;
  return new SimOperatorError(text, false, { cause, failure: "unavailable" });
}
