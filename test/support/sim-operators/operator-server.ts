import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "vitest";
import type { Extract, ReceivedRequest } from "./extract.ts";

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
  protected readonly extract: Extract;
  readonly #faults: SetFault[] = [];
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  #parallel = 0;
  /** Time that each answer takes, in milliseconds. */
  delayMs = 0;

  protected constructor(extract: Extract) {
    this.extract = extract;
  }

  protected async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The next `times` requests that match go wrong. The pattern is for what `requests` has. */
  fail(pattern: RegExp, fault: Fault, times = Infinity): void {
    this.#faults.push({ pattern, fault, times });
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

  /** A reply to what is not in the document, such as a request for a token; `undefined`: nothing to do with it. */
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
      body: Buffer.concat(chunks).toString("utf8"),
    };
    const name = `${received.method} ${received.url.pathname}${received.url.search}`;
    this.requests.push(name);
    const set = this.#faults.find(({ pattern, times }) => times > 0 && pattern.test(name));
    if (set) set.times--;
    const fault = set?.fault;
    if (fault?.kind === "hang") return;
    if (this.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, this.delayMs));
    if (fault?.kind === "status") return void response.writeHead(fault.status, fault.headers).end();
    if (fault?.kind === "html") return void response.writeHead(fault.status, { "Content-Type": "text/html" }).end(HTML);
    if (fault?.kind === "text")
      return void response.writeHead(200, { "Content-Type": "application/json" }).end(fault.text);
    const { status, body, headers } = this.#answer(received, request.headers.authorization);
    if (fault?.kind === "answer_lost") return void request.destroy();
    response.writeHead(status, { ...(body !== undefined && { "Content-Type": "application/json" }), ...headers });
    response.end(body === undefined ? undefined : JSON.stringify(body));
  }

  #answer(received: ReceivedRequest, authorization: string | undefined): Reply {
    const special = this.special(received);
    if (special) return special;
    const refusal = this.refusal(authorization);
    if (refusal) return refusal;
    const problems = this.extract.requestProblems(received);
    const template = this.extract.templateOf(received.url.pathname);
    const name = `${received.method} ${received.url.pathname}`;
    this.problems.push(...problems.map((problem) => `${name}: ${problem}`));
    if (template === undefined || problems.length > 0) return { status: 400, body: { message: problems.join("; ") } };
    const isJson = received.contentType?.startsWith("application/json") === true;
    const reply = this.reply({
      ...received,
      template,
      last: decodeURIComponent(received.url.pathname.split("/").at(-1) ?? ""),
      json: isJson ? (JSON.parse(received.body) as Record<string, unknown>) : {},
      form: new URLSearchParams(received.body),
    });
    const wrong = this.extract.responseProblems(received.method, template, reply.status, reply.body);
    this.problems.push(...wrong.map((problem) => `response to ${name}: ${problem}`));
    return reply;
  }
}
