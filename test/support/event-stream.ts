import { request, type IncomingHttpHeaders, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import type { DeploymentEvent } from "../../src/protocol/deployments/deployment-event.ts";
import { MAX_WAIT_MS } from "./wait-for.ts";

/** A streamed response of the control plane, with its exact text. */
export class EventStream implements Disposable {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Everything received so far. */
  text = "";
  /** Resolves at the end of the response: `false` when it was cut off. */
  readonly ended: Promise<boolean>;
  readonly #response: IncomingMessage;
  readonly #waiting = new Set<() => void>();
  #isEnded = false;

  constructor(response: IncomingMessage) {
    this.#response = response;
    this.status = response.statusCode ?? 0;
    this.headers = response.headers;
    response.setEncoding("utf8");
    response.on("data", (chunk: string) => {
      this.text += chunk;
      this.#wake();
    });
    response.on("error", () => {});
    this.ended = new Promise((resolve) => {
      response.once("close", () => {
        this.#isEnded = true;
        this.#wake();
        resolve(response.complete);
      });
    });
  }

  /** Every complete event received so far, without its id. Throws on a malformed line. */
  get events(): DeploymentEvent[] {
    const complete = this.text.slice(0, this.text.lastIndexOf("\n") + 1);
    return complete.split("\n").flatMap((line) => {
      if (line === "" || /^id: \d+$/.test(line)) return [];
      if (!line.startsWith("data: ")) throw new Error(`not a data line: ${line}`);
      return [JSON.parse(line.slice(6)) as DeploymentEvent];
    });
  }

  /** The response's `Deployment-Id`. */
  get deploymentId(): string {
    return String(this.headers["deployment-id"]);
  }

  /** Waits until the condition holds. Rejects after the timeout, or when the stream ends before. */
  async until(what: string, condition: (stream: this) => boolean, timeoutMs = MAX_WAIT_MS): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    while (!condition(this)) {
      if (this.#isEnded || performance.now() > deadline) throw new Error(`did not get ${what}; received: ${this.text}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 200);
        this.#waiting.add(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  /** Waits for an event that fits and returns the first. */
  async event(what: string, fits: (event: DeploymentEvent) => boolean, timeoutMs?: number): Promise<DeploymentEvent> {
    await this.until(what, (stream) => stream.events.some(fits), timeoutMs);
    return this.events.find(fits) as DeploymentEvent;
  }

  /** Stops reading, like a client that hangs. */
  freeze(): void {
    this.#response.pause();
  }

  /** Resumes reading. */
  thaw(): void {
    this.#response.resume();
  }

  /** Closes the connection without waiting for the end. */
  [Symbol.dispose](): void {
    this.#response.destroy();
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}

export interface StreamRequest {
  readonly method?: string;
  readonly apiKey?: string;
  readonly headers?: OutgoingHttpHeaders;
  /** A string is sent unchanged, everything else as JSON. */
  readonly body?: unknown;
}

/** Sends a request. Resolves when the response's headers have arrived. */
export function openStream(url: string, options: StreamRequest = {}): Promise<EventStream> {
  const { method = options.body === undefined ? "GET" : "POST", apiKey, headers, body } = options;
  const payload = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const outgoing = request(url, {
      method,
      agent: false,
      headers: {
        ...(apiKey !== undefined && { "X-API-Key": apiKey }),
        // Explicit, since Node.js omits it for DELETE.
        ...(payload !== undefined && {
          "Content-Type": "application/json",
          "Content-Length": Buffer.byteLength(payload),
        }),
        ...headers,
      },
    });
    outgoing.once("response", (response) => resolve(new EventStream(response)));
    outgoing.once("error", reject);
    outgoing.end(payload);
  });
}
