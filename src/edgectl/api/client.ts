import { EXIT, Failure } from "../failure.ts";
import type { z } from "zod";
import { type Clock, deadline } from "../../lib/clock.ts";
import { BodyTooLongError, readResponse } from "../../lib/registry/read-body.ts";
import { JSON_LIMITS } from "../../protocol/values/bounded-json.ts";
import { parseJson } from "../../lib/parse-json.ts";
import { VERSION } from "../../lib/version.ts";
import { NetworkFailure, toNetworkFailure } from "./network-failure.ts";
import type { ApiRequest, Fits } from "./request.ts";
import { toServiceFailure } from "./service-failure.ts";

const RESPONSE_TIMEOUT_MS = 30_000;

/** What was read, with what the service knows its state by: see `ifUnchanged`. */
export interface Tagged<T> {
  readonly value: T;
  /** `undefined` from a service that sends none. */
  readonly tag: string | undefined;
}

interface ApiClientOptions {
  readonly baseUrl: string;
  /** `undefined` for requests without one. */
  readonly apiKey: string | undefined;
  readonly fetch: typeof globalThis.fetch;
  readonly clock: Clock;
  /** Aborts all pending requests. */
  readonly signal: AbortSignal;
}

/** Client of the service's public HTTP API. Errors: `Failure`; after Ctrl-C the signal's reason. */
export class ApiClient {
  readonly baseUrl: string;
  readonly #options: ApiClientOptions;

  constructor(options: ApiClientOptions) {
    this.baseUrl = options.baseUrl;
    this.#options = options;
  }

  /** Sends a request and returns the JSON document of the response. */
  async json<Answer, Schema extends z.ZodType>(
    request: ApiRequest<Answer>,
    schema: Schema & Fits<Schema, Answer>,
  ): Promise<z.output<Schema>> {
    return (await this.#read(request, schema)).value;
  }

  /** Sends a request and returns the JSON document of the response with its entity tag. */
  async tagged<Answer, Schema extends z.ZodType>(
    request: ApiRequest<Answer>,
    schema: Schema & Fits<Schema, Answer>,
  ): Promise<Tagged<z.output<Schema>>> {
    return this.#read(request, schema);
  }

  async #read<Schema extends z.ZodType>(request: ApiRequest, schema: Schema): Promise<Tagged<z.output<Schema>>> {
    using limit = deadline(this.#options.clock, request.timeoutMs ?? RESPONSE_TIMEOUT_MS, this.#options.signal);
    const response = await this.send(request, limit.signal);
    const text = await this.text(response);
    if (!response.ok) throw toServiceFailure(response, text);
    const result = schema.safeParse(parseJson(text, "response"));
    if (!result.success) throw this.#unexpectedResponse();
    return { value: result.data, tag: response.headers.get("etag") ?? undefined };
  }

  /** Sends a request whose response has no content. */
  async empty(request: ApiRequest): Promise<void> {
    using limit = deadline(this.#options.clock, request.timeoutMs ?? RESPONSE_TIMEOUT_MS, this.#options.signal);
    const response = await this.send(request, limit.signal);
    const text = await this.text(response);
    if (!response.ok) throw toServiceFailure(response, text);
  }

  /** Sends a request and resolves when the response's headers arrive, with any status. */
  async send(request: ApiRequest, signal: AbortSignal): Promise<Response> {
    const headers: Record<string, string> = {
      ...request.headers,
      "User-Agent": `edgectl/${VERSION}`,
    };
    if (this.#options.apiKey !== undefined) headers["X-API-Key"] = this.#options.apiKey;
    if (request.body !== undefined) headers["Content-Type"] = "application/json";
    try {
      return await this.#options.fetch(this.#urlOf(request), {
        method: request.method,
        headers,
        signal,
        // Following a redirect would send the key to another host.
        redirect: "manual",
        ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
      });
    } catch (error) {
      throw this.toFailure(error);
    }
  }

  /** Reads the whole text of a response. */
  async text(response: Response): Promise<string> {
    try {
      return (await readResponse(response, JSON_LIMITS.response.maxBytes)).toString();
    } catch (error) {
      throw error instanceof BodyTooLongError ? this.#unexpectedResponse() : this.toFailure(error);
    }
  }

  /** Converts an error of a request: to the signal's reason after Ctrl-C, otherwise to a `NetworkFailure`. */
  toFailure(error: unknown): unknown {
    if (this.#options.signal.aborted) return this.#options.signal.reason;
    return error instanceof NetworkFailure ? error : toNetworkFailure(this.baseUrl, error);
  }

  #urlOf(request: ApiRequest): string {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(request.query)) {
      if (value !== undefined) query.set(name, String(value));
    }
    return `${this.baseUrl}${request.path}${query.size === 0 ? "" : `?${query.toString()}`}`;
  }

  #unexpectedResponse(): Failure {
    return new Failure(`${this.baseUrl} answered, but not as this service does.`, {
      exitCode: EXIT.unreachable,
      hint: "Check the address (--url): it may be another service, or a newer version of this one.",
    });
  }
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | null;
}

/**
 * Fetches one page, or with `all` all pages from the cursor on. A page without items is none: the service looks at so many rows
 * for a page that is filtered. @returns the items and the cursor of the next page
 */
export async function fetchPages<T>(
  fetchPage: (cursor: string | undefined) => Promise<Page<T>>,
  options: { readonly cursor: string | undefined; readonly all: boolean },
): Promise<Page<T>> {
  let page = await fetchPage(options.cursor);
  const items = [...page.items];
  while (page.next !== null && (options.all || items.length === 0)) {
    const cursor = page.next;
    page = await fetchPage(cursor);
    items.push(...page.items);
    if (page.next === cursor) {
      throw new Failure("The server keeps sending the same page.", { exitCode: EXIT.failed });
    }
  }
  return { items, next: page.next };
}
