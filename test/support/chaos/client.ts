import { type DeploymentEvent, isFinal } from "../../../src/protocol/deployments/deployment-event.ts";
import { type EventStream, openStream } from "../event-stream.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { httpRequest, type Request } from "./request.ts";

const RETRY_MS = 200;

export interface RetryingClientOptions {
  /** Address of the asset, such as `http://127.0.0.1:8080/v1/assets/UUID`. */
  readonly assetUrl: string;
  readonly apiKey: string;
  /** Makes the request safe to repeat. */
  readonly idempotencyKey: string;
  readonly request: Request;
  /** Seconds to wait for a device that is not connected. Not for changes without a body. */
  readonly waitForDeviceS?: number;
}

/**
 * A client that follows the documentation: repeats its request with the same key until it gets a response, and resumes
 * a broken stream after the last event received.
 */
export class RetryingClient implements Disposable {
  readonly request: Request;
  /** Every event received, in order. */
  readonly events: DeploymentEvent[] = [];
  deploymentId: string | undefined;
  /** Statuses of the responses that refused something for now. */
  readonly refusals: number[] = [];
  /** Resolves to the final event. Rejects on an unexpected response. */
  readonly finished: Promise<DeploymentEvent>;
  readonly #options: RetryingClientOptions;
  #stream: EventStream | undefined;
  #isOver = false;

  constructor(options: RetryingClientOptions) {
    this.request = options.request;
    this.#options = options;
    this.finished = this.#run();
    // Callers that await it get the error; otherwise an abandoned run must not end the process.
    this.finished.catch(() => {});
  }

  get final(): DeploymentEvent | undefined {
    return this.events.find(isFinal);
  }

  /** Cancels the deployment, retrying until its id is known and the service responds. */
  async cancel(): Promise<void> {
    const { assetUrl, apiKey } = this.#options;
    while (!this.#isOver) {
      const url = this.deploymentId && `${assetUrl}/edge/deployments/${this.deploymentId}`;
      const answer =
        url && (await fetch(url, { method: "DELETE", headers: { "X-API-Key": apiKey } }).catch(() => undefined));
      if (answer && answer.status < 500) return;
      if (answer) this.refusals.push(answer.status);
      await sleep(RETRY_MS);
    }
  }

  /** Leaves the stream, if there is one, and comes back a moment later with `after`. */
  leave(): void {
    this.#stream?.[Symbol.dispose]();
  }

  /** Sends a GET request about the asset, and repeats it while the service cannot respond. */
  async get(path: string): Promise<Response> {
    const { assetUrl, apiKey } = this.#options;
    for (;;) {
      const answer = await fetch(assetUrl + path, { headers: { "X-API-Key": apiKey } }).catch(() => undefined);
      if (answer && answer.status < 500) return answer;
      if (answer) this.refusals.push(answer.status);
      if (this.#isOver) throw new Error(`the client was disposed before a response to ${path}`);
      await sleep(RETRY_MS);
    }
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#stream?.[Symbol.dispose]();
  }

  async #run(): Promise<DeploymentEvent> {
    while (!this.#isOver) {
      const stream = await this.#open().catch(() => undefined);
      if (stream) await this.#read(stream);
      if (this.final) return this.final;
      await sleep(RETRY_MS);
    }
    throw new Error("the client was disposed before the end");
  }

  #open(): Promise<EventStream> {
    const { assetUrl, apiKey, idempotencyKey, request, waitForDeviceS } = this.#options;
    if (this.deploymentId === undefined) {
      const headers = { "Idempotency-Key": idempotencyKey };
      const { method, path, body } = httpRequest(request);
      const waits = body !== undefined && waitForDeviceS !== undefined;
      const sent = waits ? { ...body, wait_for_device_s: waitForDeviceS } : body;
      return openStream(assetUrl + path, { method, apiKey, headers, body: sent });
    }
    const url = `${assetUrl}/edge/deployments/${this.deploymentId}/events?after=${this.events.at(-1)?.seq ?? 0}`;
    return openStream(url, { apiKey });
  }

  async #read(stream: EventStream): Promise<void> {
    this.#stream = stream;
    if (stream.status !== 200) {
      this.refusals.push(stream.status);
      await stream.ended;
      // The service is stopping or starting: retry.
      if (stream.status >= 500) return;
      throw new Error(`the service answered ${stream.status}: ${stream.text}`);
    }
    if (stream.deploymentId !== "undefined") this.deploymentId = stream.deploymentId;
    await stream.ended;
    this.events.push(...stream.events);
  }
}
