import { Agent as HttpAgent, type IncomingMessage, request as httpRequest, type RequestOptions } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { isIP } from "node:net";
import type { Clock } from "../../lib/clock.ts";
import {
  type FollowedResponse,
  followRedirects,
  type RegistryRequest,
  type RegistryResponse,
} from "../../lib/registry/http.ts";
import { VERSION } from "../../lib/version.ts";
import { type IsPublic, isPublicAddress, type LookupAll, privateAddress, publicLookup } from "./public-address.ts";
import { PrivateHosts } from "./private-hosts.ts";
import { ResolutionFailure, registryErrors } from "./resolution-failure.ts";

export interface GuardedHttpOptions {
  readonly clock: Clock;
  /** Hosts, with a port or for all ports, that may have private addresses and need no TLS. */
  readonly allowPrivate: readonly string[];
  /** Default: `lookup` of `node:dns`. */
  readonly lookup?: LookupAll | undefined;
  /** Default: `isPublicAddress`. */
  readonly isPublic?: IsPublic | undefined;
  /** PEM of the trusted authorities. Default: those of Node.js. */
  readonly ca?: string | undefined;
}

export interface GuardedRequest extends RegistryRequest {
  /** The registry on whose behalf the request is sent: only one that may be private leads to others that may be. */
  readonly registry: URL;
}

const RETRY_PAUSE_MS = 500;

/**
 * HTTP to servers that customers choose: only to public addresses and with TLS, except for allowed hosts. Ignores the
 * proxies of the environment, which would look up names themselves. Keeps no connections.
 */
export class GuardedHttp {
  readonly #options: GuardedHttpOptions;
  readonly #privateHosts: PrivateHosts;
  readonly #http = new HttpAgent({ keepAlive: false });
  readonly #https = new HttpsAgent({ keepAlive: false });

  constructor(options: GuardedHttpOptions) {
    this.#options = options;
    this.#privateHosts = new PrivateHosts(options.allowPrivate);
  }

  /** Whether the registry may have a private address and be without TLS. */
  mayBePrivate(registry: URL): boolean {
    return this.#privateHosts.has(registry);
  }

  /**
   * Sends a request, once more after a 429 or 5xx, and follows redirects without the credentials for another origin. Rejects
   * with a `ResolutionFailure`, the connection's error, or the signal's reason.
   */
  async send(request: GuardedRequest, signal: AbortSignal): Promise<FollowedResponse> {
    const first = await this.#follow(request, signal);
    if (first.status !== 429 && first.status < 500) return first;
    first.body.destroy();
    await this.#options.clock.sleep(RETRY_PAUSE_MS, signal);
    return await this.#follow(request, signal);
  }

  async #follow(first: GuardedRequest, signal: AbortSignal): Promise<FollowedResponse> {
    const send = async (request: GuardedRequest): Promise<RegistryResponse> => {
      const body = await this.#request(request, signal);
      return { status: body.statusCode ?? 0, headers: body.headers, body, url: request.url };
    };
    return await followRedirects(first, send, { errors: registryErrors, mayLoseTls: false });
  }

  async #request(request: GuardedRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const { url, registry, method, headers } = request;
    signal.throwIfAborted();
    const isAllowed = this.#privateHosts.has(registry) && this.#privateHosts.has(url);
    if (!isAllowed) this.#requirePublic(url);
    const isTls = url.protocol === "https:";
    const options: RequestOptions & { ca?: string } = {
      method,
      signal,
      headers: { "User-Agent": `edge-control/${VERSION}`, "Accept-Encoding": "identity", ...headers },
      agent: isTls ? this.#https : this.#http,
      ...(!isAllowed && { lookup: publicLookup(this.#options.isPublic, this.#options.lookup) }),
      ...(isTls && this.#options.ca !== undefined && { ca: this.#options.ca }),
    };
    return await new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = isTls ? httpsRequest(url, options) : httpRequest(url, options);
      outgoing.on("response", resolve);
      outgoing.on("error", reject);
      // Comes alone where the server switches protocols.
      outgoing.on("close", () =>
        reject(new ResolutionFailure("invalid_response", `${url.host} does not respond with HTTP`)),
      );
      outgoing.end();
    });
  }

  /** Node.js does not call `lookup` for IP addresses. */
  #requirePublic({ protocol, hostname, host }: URL): void {
    if (protocol !== "https:") {
      const message = `${host} would be asked without TLS; write the image with its digest, or use a registry with https`;
      throw new ResolutionFailure("no_tls", message);
    }
    const { isPublic = isPublicAddress } = this.#options;
    const address = hostname.replace(/^\[(.*)\]$/, "$1");
    if (isIP(address) !== 0 && !isPublic(address)) throw privateAddress(host);
  }
}
