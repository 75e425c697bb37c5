import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "vitest";
import { type Clock, systemClock } from "../../../src/lib/clock.ts";
import type { Extract, ReceivedRequest } from "./extract.ts";
import { type RequestLimit, RequestLimits } from "./request-limits.ts";

export interface Reply {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What goes wrong instead of a reply. */
export type Fault =
  | { readonly kind: "status"; readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  | { readonly kind: "html"; readonly status: number }
  | { readonly kind: "text"; readonly text: string }
  /** Carries the request out, but the answer does not arrive. */
  | { readonly kind: "answer_lost" }
  /** Does not answer. */
  | { readonly kind: "hang" };

interface SetFault {
  readonly pattern: RegExp;
  readonly fault: Fault;
  /** How many requests that match go well before. */
  after: number;
  times: number;
}

/** A request to an operation of the document. */
export interface OperatorCall extends ReceivedRequest {
  /** Such as `/v1/Sims/{Sid}`. */
  readonly template: string;
  /** The last part of the path. */
  readonly last: string;
  readonly json: Record<string, unknown>;
  readonly form: URLSearchParams;
}

export interface OperatorServerOptions {
  readonly extract: Extract;
  /** What the operator publishes of its limits: 429 beyond them. */
  readonly limits?: readonly RequestLimit[];
  /** The clock of limits, tokens and delays. Default: the system's. */
  readonly clock?: Clock;
}

const HTML = "<!doctype html><html><body><h1>Bad gateway</h1></body></html>";

/**
 * An operator's server on a loopback port. It holds every request, and every response of the simulator, against the operator's
 * document, counts requests, and does as told what is wrong. Disposing it checks that nothing was found.
 */
export abstract class OperatorServer implements AsyncDisposable {
  readonly problems: string[] = [];
  /** Every request, as `GET /v1/Sims/HS…?PageSize=1`, in the order of arrival. */
  readonly requests: string[] = [];
  /** Largest number of requests at a time. */
  maxParallel = 0;
  /** Number of requests beyond a limit. */
  throttled = 0;
  protected readonly extract: Extract;
  protected readonly clock: Clock;
  readonly #limits: RequestLimits;
  readonly #faults: SetFault[] = [];
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  #parallel = 0;
  /** Time that each answer takes, in milliseconds. */
  delayMs = 0;
  #toHold: RegExp | undefined;
  #released = Promise.withResolvers<void>();
  /** Answers that are ready and held back. */
  held = 0;

  protected constructor({ extract, limits = [], clock = systemClock }: OperatorServerOptions) {
    this.extract = extract;
    this.clock = clock;
    this.#limits = new RequestLimits(limits, clock);
    // A client that gets no time for some seconds finds its connection open: Node.js closes idle ones after five.
    this.#server.keepAliveTimeout = 0;
  }

  protected async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The next `times` requests that match go wrong. The pattern is for what `requests` has. */
  fail(pattern: RegExp, fault: Fault, times = Infinity): void {
    this.#faults.push({ pattern, fault, after: 0, times });
  }

  /** Of the requests that match and come from now on, the one with this number, from 0, goes wrong. */
  failAt(pattern: RegExp, number: number, fault: Fault): void {
    this.#faults.push({ pattern, fault, after: number, times: 1 });
  }

  /** The answer to the next request that matches is held back until `release`. */
  holdNext(pattern: RegExp): void {
    this.#toHold = pattern;
  }

  /** What was held back is sent. */
  release(): void {
    this.#released.resolve();
    this.#released = Promise.withResolvers();
  }

  /** From now on all is well. */
  heal(): void {
    this.#faults.length = 0;
  }

  /** How many requests there were that match. */
  count(pattern: RegExp = /./): number {
    return this.requests.filter((request) => pattern.test(request)).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    expect(this.problems).toEqual([]);
  }

  /** A reply to what needs no authorization, such as a request for a token; `undefined`: nothing to do with it. */
  protected abstract special(request: ReceivedRequest): Reply | undefined;
  /** Whether the request may go on; otherwise the reply that refuses it. */
  protected abstract refusal(authorization: string | undefined): Reply | undefined;
  protected abstract reply(call: OperatorCall): Reply;

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.maxParallel = Math.max(this.maxParallel, ++this.#parallel);
    response.once("close", () => this.#parallel--);
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const received: ReceivedRequest = {
      method: request.method ?? "",
      url: new URL(request.url ?? "", this.url),
      contentType: request.headers["content-type"],
      authorization: request.headers.authorization,
      body: Buffer.concat(chunks).toString("utf8"),
    };
    const name = `${received.method} ${received.url.pathname}${received.url.search}`;
    this.requests.push(name);
    const fault = this.#nextFault(name);
    if (fault?.kind === "hang") return;
    if (this.delayMs > 0) await this.clock.sleep(this.delayMs);
    if (fault?.kind === "status") return void response.writeHead(fault.status, fault.headers).end();
    if (fault?.kind === "html") return void response.writeHead(fault.status, { "Content-Type": "text/html" }).end(HTML);
    if (fault?.kind === "text")
      return void response.writeHead(200, { "Content-Type": "application/json" }).end(fault.text);
    const { status, body, headers } = this.#answer(received, name);
    if (this.#toHold?.test(name)) {
      this.#toHold = undefined;
      this.held++;
      await this.#released.promise;
    }
    if (fault?.kind === "answer_lost") return void request.socket.destroy();
    response.writeHead(status, { ...(body !== undefined && { "Content-Type": "application/json" }), ...headers });
    response.end(body === undefined ? undefined : JSON.stringify(body, withAddedField));
  }

  #nextFault(request: string): Fault | undefined {
    const concerned = this.#faults.filter(({ pattern, times }) => times > 0 && pattern.test(request));
    const set = concerned.find(({ after }) => after === 0);
    for (const each of concerned) if (each.after > 0) each.after--;
    if (set) set.times--;
    return set?.fault;
  }

  #answer(received: ReceivedRequest, name: string): Reply {
    if (!this.#limits.take(name)) {
      this.throttled++;
      return { status: 429 };
    }
    const template = this.extract.templateOf(received.url.pathname);
    if (template === undefined) return this.special(received) ?? this.#unfit(name, ["no such operation"]);
    const problems = this.extract.requestProblems(received);
    if (problems.length > 0) return this.#unfit(name, problems);
    const refused = this.special(received) ?? this.refusal(received.authorization);
    if (refused) return this.#held(received, refused);
    const isJson = received.contentType?.startsWith("application/json") === true;
    const reply = this.reply({
      ...received,
      template,
      last: decodeURIComponent(received.url.pathname.split("/").at(-1) ?? ""),
      json: isJson ? (JSON.parse(received.body) as Record<string, unknown>) : {},
      form: new URLSearchParams(received.body),
    });
    return this.#held(received, reply);
  }

  /** The reply, held against the document. */
  #held({ method, url }: ReceivedRequest, reply: Reply): Reply {
    const template = this.extract.templateOf(url.pathname);
    if (template === undefined) return reply;
    this.#note(`response to ${method} ${url.pathname}`, this.extract.responseProblems(method, template, reply));
    return reply;
  }

  #unfit(name: string, problems: readonly string[]): Reply {
    this.#note(name, problems);
    return { status: 400, body: { message: problems.join("; ") } };
  }

  #note(of: string, problems: readonly string[]): void {
    this.problems.push(...problems.map((problem) => `${of}: ${problem}`));
  }
}

/** Operators send fields that their documents do not name. Every object has one, so that no reader minds. */
function withAddedField(_key: string, value: unknown): unknown {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? { ...value, added_later: null } : value;
}
