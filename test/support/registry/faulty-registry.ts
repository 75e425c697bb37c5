import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A fault in the response to a layer request. */
export type Fault =
  /** The byte at this offset is changed. */
  | { readonly kind: "corrupt"; readonly at: number }
  /** The response, which does not announce its length, ends regularly after this many bytes. */
  | { readonly kind: "truncate"; readonly after: number }
  /** `Content-Length` is off by this many bytes. */
  | { readonly kind: "wrong length"; readonly by: number }
  /** The registry ignores range requests. */
  | { readonly kind: "no ranges" }
  /** The registry refuses temporarily. */
  | { readonly kind: "refuse"; readonly status: number; readonly retryAfter?: string }
  /** The registry redirects to another address, which cuts the connection after this many bytes, if given. */
  | { readonly kind: "redirect"; readonly cutAfter?: number }
  /** The registry takes its time. */
  | { readonly kind: "wait"; readonly until: Promise<void> }
  /** The connection is cut after this many bytes. */
  | { readonly kind: "cut"; readonly after: number };

/** Ends the address that a redirect leads to, with the number of bytes until it cuts. */
const ELSEWHERE = /\?elsewhere=(\d*)$/;

interface LayerRequest {
  /** Number among all layer requests, from 1. */
  readonly number: number;
  readonly path: string;
  readonly range: string | undefined;
  readonly authorization: string | undefined;
}

/** A proxy in front of a working registry that adds the faults of registries and middleboxes. */
export class FaultyRegistry implements AsyncDisposable {
  /** Every request for a layer, in order. */
  readonly requests: LayerRequest[] = [];
  /** Chooses the fault of each layer request. Other requests pass. */
  fault: (request: LayerRequest) => Fault | undefined = () => undefined;
  readonly #server: Server;
  readonly #port: number;

  private constructor(port: number) {
    this.#port = port;
    this.#server = createServer((incoming, outgoing) => this.#answer(incoming, outgoing));
    // A client that gets no time for some seconds finds its connection open: Node.js closes idle ones after five.
    this.#server.keepAliveTimeout = 0;
  }

  /** @param port loopback port of the working registry */
  static async before(port: number): Promise<FaultyRegistry> {
    const registry = new FaultyRegistry(port);
    await new Promise<void>((resolve) => {
      registry.#server.listen(0, "127.0.0.1", resolve);
    });
    return registry;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** `127.0.0.1:PORT` of the proxy. */
  get host(): string {
    return `127.0.0.1:${this.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }

  #answer(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const path = incoming.url ?? "";
    const { range, authorization } = incoming.headers;
    const isLayer = /\/blobs\/sha256:/.test(path) && incoming.method === "GET" && !path.includes("?elsewhere");
    let fault: Fault | undefined;
    if (isLayer) {
      const asked = { number: this.requests.length + 1, path, range, authorization };
      this.requests.push(asked);
      fault = this.fault(asked);
    }
    if (fault?.kind === "refuse") {
      outgoing.writeHead(fault.status, fault.retryAfter === undefined ? {} : { "Retry-After": fault.retryAfter });
      return void outgoing.end();
    }
    if (fault?.kind === "redirect") {
      outgoing.writeHead(307, { Location: `http://${this.host}${path}?elsewhere=${fault.cutAfter ?? ""}` });
      return void outgoing.end();
    }
    if (fault?.kind === "wait") return void fault.until.then(() => this.#relay(incoming, outgoing, undefined));
    const cutAfter = Number(ELSEWHERE.exec(path)?.[1]);
    this.#relay(incoming, outgoing, cutAfter ? { kind: "cut", after: cutAfter } : fault);
  }

  #relay(incoming: IncomingMessage, outgoing: ServerResponse, fault: Fault | undefined): void {
    const headers = { ...incoming.headers };
    if (fault?.kind === "no ranges") delete headers.range;
    const path = (incoming.url ?? "").replace(ELSEWHERE, "");
    const onward = request({ host: "127.0.0.1", port: this.#port, method: incoming.method, path, headers });
    outgoing.on("close", () => onward.destroy());
    onward.on("error", () => outgoing.destroy());
    onward.on("response", (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, changedHeaders(answer.headers, fault));
      send(answer, outgoing, fault).catch(() => outgoing.destroy());
    });
    incoming.pipe(onward);
  }
}

function changedHeaders(headers: IncomingMessage["headers"], fault: Fault | undefined): IncomingMessage["headers"] {
  const length = Number(headers["content-length"]);
  if (fault?.kind === "truncate") {
    const { "content-length": _length, ...rest } = headers;
    return rest;
  }
  if (fault?.kind === "wrong length") return { ...headers, "content-length": String(length + fault.by) };
  return headers;
}

async function send(answer: IncomingMessage, outgoing: ServerResponse, fault: Fault | undefined): Promise<void> {
  const last = fault?.kind === "truncate" || fault?.kind === "cut" ? fault.after : Infinity;
  let at = 0;
  for await (const piece of answer as AsyncIterable<Buffer>) {
    const chunk = Buffer.from(piece.subarray(0, last - at));
    const place = fault?.kind === "corrupt" ? fault.at - at : -1;
    if (place >= 0 && place < chunk.length) chunk[place] = (chunk[place] ?? 0) ^ 0xff;
    at += chunk.length;
    await new Promise<void>((resolve) => {
      outgoing.write(chunk, () => resolve());
    });
    if (at >= last) break;
  }
  if (fault?.kind === "cut") outgoing.socket?.resetAndDestroy();
  // A body shorter than its `Content-Length` leaves the receiver waiting; a crashing server closes the connection.
  else if (fault?.kind === "wrong length" && fault.by > 0) outgoing.socket?.end();
  else outgoing.end();
}
