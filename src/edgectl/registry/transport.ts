import { Readable } from "node:stream";
import { type FollowedResponse, followRedirects, type RegistryRequest } from "../../lib/registry/http.ts";
import type { Io } from "../io.ts";
import { noResponse, registryErrors, wrongContent } from "./failures.ts";

export interface EdgectlRequest extends RegistryRequest {
  /** Can be sent again, since a first request may be refused for want of a token. */
  readonly body?: Blob | Uint8Array<ArrayBuffer> | string;
}

/** Sends requests with `fetch`. Follows redirects without the credentials for another origin, and never out of TLS. */
export class Transport {
  readonly #fetch: typeof globalThis.fetch;
  readonly #signal: AbortSignal;

  constructor({ fetch, interrupted }: Pick<Io, "fetch" | "interrupted">) {
    this.#fetch = fetch;
    this.#signal = interrupted;
  }

  /** Errors: exit code 5 if there is no response, 1 for a redirect that is not accepted. */
  async send(request: EdgectlRequest): Promise<FollowedResponse> {
    const options = { errors: registryErrors, mayLoseTls: false };
    if (request.body === undefined && request.method !== "POST")
      return await followRedirects(request, (one) => this.#request(one, "manual"), options);
    // Redirects of uploads keep their method and body, as fetch does it.
    const response = await this.#request(request, "follow");
    if (request.url.protocol === "https:" && response.url.protocol === "http:") {
      response.body.destroy();
      throw wrongContent(request.url.host, "a redirect to an address without TLS");
    }
    return response;
  }

  /** Sends a request that must not be redirected, since its body may contain credentials. */
  async sendDirectly(request: EdgectlRequest): Promise<FollowedResponse> {
    return await this.#request(request, "error");
  }

  async #request(
    { url, method, headers, body }: EdgectlRequest,
    redirect: "manual" | "follow" | "error",
  ): Promise<FollowedResponse> {
    const response = await this.#fetch(url, {
      method,
      // Blobs are checked by their length and digest as they are.
      headers: { "Accept-Encoding": "identity", ...headers },
      ...(body !== undefined && { body }),
      redirect,
      signal: this.#signal,
    }).catch((error: unknown) => {
      this.#signal.throwIfAborted();
      throw noResponse(url.host, error);
    });
    const stream = response.body ? Readable.fromWeb(response.body) : Readable.from([]);
    // A reader gets the error too; without one, it must not end the process.
    stream.on("error", () => undefined);
    const origin = URL.parse(response.url) ?? url;
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: stream,
      url: origin,
      isCrossOrigin: origin.origin !== url.origin,
    };
  }
}
