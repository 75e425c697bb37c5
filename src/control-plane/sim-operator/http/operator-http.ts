import { fullJitter } from "../../../lib/backoff.ts";
import { type Clock, deadline } from "../../../lib/clock.ts";
import { Semaphore } from "../../../lib/semaphore.ts";
import type { SimType } from "../../../protocol/assets/sim.ts";
import { type OperatorFailure, SimOperatorError } from "../sim-operator.ts";
import type { Authorization } from "./authorization.ts";
import { broken, malformed, refusal, silent, throttled, unreachable } from "./operator-errors.ts";
import { OperatorOutage } from "./outage.ts";
import { Pauses } from "./pauses.ts";
import { askedPause, readJson } from "./read-response.ts";
import { Refusals } from "./refusals.ts";
import { type RequestRate, RequestRates } from "./request-rates.ts";
import { SharedCalls } from "./shared-calls.ts";

/** Requests at a time to one account of an operator. */
const MAX_PARALLEL = 4;
const ATTEMPTS = 3;
const BACKOFF = { baseMs: 200, maxMs: 2_000 };
/** For one request, from its turn until its last byte. */
const REQUEST_TIMEOUT_MS = 10_000;
/** Requests in a row without an answer after which no more are sent for a while. */
const MAX_UNANSWERED = 3;
/** Longer pauses are not waited for: the caller is told. */
const MAX_WAIT_MS = 5_000;

export interface OperatorHttpOptions {
  /** Such as `https://cdn.emnify.net`. Nothing is ever sent to another origin. */
  readonly baseUrl: string;
  readonly authorization: Authorization;
  readonly clock: Clock;
  /** Below what the operator allows. */
  readonly rates: readonly RequestRate[];
  /** What the observer is told. */
  readonly type: SimType;
  readonly observer?: OperatorObserver | undefined;
}

/** Is told what the calls of operators end with. */
export interface OperatorObserver {
  operatorCalled(type: SimType, outcome: OperatorFailure | "ok"): void;
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
 * Requests to one account of an operator: four at a time, within its rates, each bounded in time and size, repeated where that may
 * help, and not sent at all while the operator wants none. Equal reads that go on at the same time are one request.
 */
export class OperatorHttp {
  readonly #options: OperatorHttpOptions;
  readonly #origin: string;
  readonly #turns = new Semaphore(MAX_PARALLEL);
  readonly #rates: RequestRates;
  readonly #pauses: Pauses;
  readonly #outage: OperatorOutage;
  readonly #refusals: Refusals;
  readonly #reads = new SharedCalls<OperatorResponse>();

  constructor(options: OperatorHttpOptions) {
    const { clock, rates, baseUrl } = options;
    this.#options = options;
    this.#origin = new URL(baseUrl).origin;
    this.#rates = new RequestRates(clock, rates);
    this.#pauses = new Pauses(clock);
    this.#outage = new OperatorOutage(clock, MAX_UNANSWERED);
    this.#refusals = new Refusals(clock);
  }

  /** Returns the response with status 200 to 299, or 404 with `acceptsMissing`. Throws `SimOperatorError` for any other. */
  async send(request: OperatorRequest, signal: AbortSignal, acceptsMissing = false): Promise<OperatorResponse> {
    const { type, observer } = this.#options;
    try {
      const response = await this.#send(request, signal, acceptsMissing);
      observer?.operatorCalled(type, "ok");
      return response;
    } catch (error) {
      if (error instanceof SimOperatorError) observer?.operatorCalled(type, error.failure);
      throw error;
    }
  }

  async #send(request: OperatorRequest, signal: AbortSignal, acceptsMissing: boolean): Promise<OperatorResponse> {
    const url = this.#urlOf(request.path);
    const response = await (request.method === "GET"
      ? this.#reads.run(url.href, signal, (shared) => this.#repeat(url, request, shared))
      : this.#write(url, request, signal));
    if (response.status === 404 && acceptsMissing) return response;
    if (response.status >= 200 && response.status <= 299) return response;
    throw refusal(response.status, response.body);
  }

  /** Relative to the base URL's path; an absolute URL, such as of the next page, only at the same origin. */
  #urlOf(path: string): URL {
    const url = URL.parse(path, this.#options.baseUrl);
    if (url?.origin === this.#origin) return url;
    throw malformed(`its answer leads to another server: ${url?.origin ?? "not a URL"}`);
  }

  async #write(url: URL, request: OperatorRequest, signal: AbortSignal): Promise<OperatorResponse> {
    try {
      return await this.#repeat(url, request, signal);
    } finally {
      // A read that began before may not see what was written.
      this.#reads.separate();
    }
  }

  async #repeat(url: URL, request: OperatorRequest, signal: AbortSignal): Promise<OperatorResponse> {
    const { clock } = this.#options;
    for (let attempt = 1; ; attempt++) {
      let error: SimOperatorError;
      try {
        return await this.#attempt(url, request, signal);
      } catch (cause) {
        signal.throwIfAborted();
        error = unreachable(cause, REQUEST_TIMEOUT_MS);
      }
      const pauseMs = error.retryAfterMs ?? fullJitter(attempt, BACKOFF, Math.random());
      const mayPass = error.failure === "unavailable" || error.failure === "throttled";
      if (!mayPass || attempt === ATTEMPTS || pauseMs > MAX_WAIT_MS || this.#outage.isOn) throw error;
      await clock.sleep(pauseMs, signal);
    }
  }

  async #attempt(url: URL, request: OperatorRequest, signal: AbortSignal): Promise<OperatorResponse> {
    const { authorization } = this.#options;
    // Before the turn as well: those who have one may still wait for the operator.
    if (this.#outage.isOn) throw silent();
    this.#refusals.check(request.method, url);
    using _turn = await this.#turns.acquire(signal);
    await this.#admit(url, request, signal);
    const header = await authorization.header(signal);
    const response = await this.#fetch(url, request, header, signal);
    if (response.status !== 401 || !authorization.reject(header)) return this.#noted(url, request, response);
    // It may have ended, or was forgotten: a new one, once.
    const renewed = await authorization.header(signal);
    await this.#admit(url, request, signal);
    return this.#noted(url, request, await this.#fetch(url, request, renewed, signal));
  }

  #noted(url: URL, { method }: OperatorRequest, response: OperatorResponse): OperatorResponse {
    const { status, body } = response;
    const isRefused = status === 401 || status === 403;
    this.#refusals.note(method, url, status, isRefused ? refusal(status, body) : undefined);
    return response;
  }

  async #admit(url: URL, { method }: OperatorRequest, signal: AbortSignal): Promise<void> {
    await this.#rates.acquire(url.pathname + url.search, signal);
    if (this.#outage.isOn) throw silent();
    this.#refusals.check(method, url);
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
    const init: RequestInit = {
      method,
      // A redirect would take the credentials elsewhere.
      redirect: "manual",
      headers: {
        Accept: "application/json",
        Authorization: authorization,
        ...(json !== undefined && { "Content-Type": "application/json" }),
      },
      ...(body !== undefined && { body }),
      signal: limit.signal,
    };
    const response = await this.#outage.watch(() => fetch(url, init));
    const { status } = response;
    if (status === 429 || status >= 500) {
      await response.body?.cancel();
      const retryAfterMs = askedPause(response, clock.timeOfDay());
      if (status === 429 || (status === 503 && retryAfterMs !== undefined))
        throw throttled(this.#pauses.begin(retryAfterMs));
      throw broken(status);
    }
    this.#pauses.end();
    // The page of a proxy or a gateway may come with any status; of refusals the status alone counts.
    const parsed = await readJson(response).catch((error: unknown) => {
      if (status >= 300 && error instanceof SimOperatorError) return undefined;
      throw error;
    });
    return { status, body: parsed };
  }
}
