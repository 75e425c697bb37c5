import { Agent as HttpAgent, type IncomingMessage, request as httpRequest, type RequestOptions } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { SecureContext } from "node:tls";
import type { Clock } from "../../lib/clock.ts";
import { deadline } from "../../lib/clock.ts";
import { isLoopback, stripBrackets } from "../core/net/hostname.ts";
import { explainProxyStatus } from "../core/net/proxy-status.ts";
import { ADDRESS_TIMEOUT_MS, verifyHost } from "../net/connect-options.ts";
import { type TunnelAgent, createTunnelAgent, proxyFor } from "../net/proxy.ts";
import { type ForbiddenAddresses, guardedLookup, rejectForbiddenAddress } from "./local-address.ts";

/** How a host is spoken to. */
export interface HostTrust {
  /** Plain HTTP will do, and any certificate. */
  readonly insecure: boolean;
  /** What to trust in place of Node's own list. */
  readonly secureContext?: SecureContext | undefined;
  /** Further hosts whose token servers may be shown the registry's credentials, with a port or for all of them. */
  readonly authHosts?: readonly string[] | undefined;
}

export interface RegistryHttpRequest {
  readonly method: "GET" | "HEAD" | "POST";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly trust: HostTrust;
  /** Kinds of addresses this request may not go to. Where a proxy is used, names are looked up there, and not here. */
  readonly forbiddenAddresses?: ForbiddenAddresses;
}

/** An answer whose body is still to come: whoever gets it reads or destroys it. */
export interface RegistryHttpResponse {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: IncomingMessage;
  /** Where the answer came from. */
  readonly url: URL;
  /** Address it came from; `undefined` where it came through a proxy. */
  readonly remoteAddress: string | undefined;
}

export interface TransportOptions {
  readonly clock: Clock;
  readonly userAgent: string;
  /** How long a host may take until its answer begins, in milliseconds. */
  readonly responseTimeoutMs: number;
}

/** An idle connection is kept for the next request of the same pull, no longer. */
const IDLE_MS = 15_000;

const NONE_FORBIDDEN: ForbiddenAddresses = new Set();

/** Sends single requests over HTTP and HTTPS, through the proxy the environment names. Follows nothing. */
export class Transport {
  readonly #options: TransportOptions;
  /** One for each set of forbidden addresses: a connection made without looking must not serve where it matters. */
  readonly #http = new Map<string, HttpAgent>();
  /** The same, and one for each set of certificates: a connection made with one must not serve another. */
  readonly #https = new Map<SecureContext | "any" | undefined, Map<string, HttpsAgent>>();

  constructor(options: TransportOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the headers are there. Rejects with what the system says, a `TimeoutError`, or the signal's reason;
   * the signal also cuts the body off.
   */
  async send(outgoing: RegistryHttpRequest, signal: AbortSignal): Promise<RegistryHttpResponse> {
    signal.throwIfAborted();
    using limit = deadline(this.#options.clock, this.#options.responseTimeoutMs, signal);
    const cut = new AbortController();
    const onAbort = (): void => cut.abort(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    const onLimit = (): void => cut.abort(limit.signal.reason);
    limit.signal.addEventListener("abort", onLimit, { once: true });
    try {
      const { body, remoteAddress } = await this.#request(outgoing, cut.signal);
      // From here on only the caller ends it: a body may take as long as it takes.
      limit.signal.removeEventListener("abort", onLimit);
      body.once("close", () => signal.removeEventListener("abort", onAbort));
      return { status: body.statusCode ?? 0, headers: body.headers, body, url: outgoing.url, remoteAddress };
    } catch (error) {
      signal.removeEventListener("abort", onAbort);
      signal.throwIfAborted();
      throw limit.signal.aborted ? limit.signal.reason : error;
    }
  }

  async #request(
    { method, url, headers, body, trust, forbiddenAddresses = NONE_FORBIDDEN }: RegistryHttpRequest,
    signal: AbortSignal,
  ) {
    rejectForbiddenAddress(url.hostname, forbiddenAddresses);
    const isTls = url.protocol === "https:";
    const tunnel = await this.#tunnel(url, trust, signal);
    const options: RequestOptions & Record<string, unknown> = {
      method,
      signal,
      headers: { "User-Agent": this.#options.userAgent, "Accept-Encoding": "identity", ...headers },
      autoSelectFamilyAttemptTimeout: ADDRESS_TIMEOUT_MS,
      agent:
        tunnel?.agent ?? (isTls ? this.#httpsAgent(trust, forbiddenAddresses) : this.#httpAgent(forbiddenAddresses)),
      ...(forbiddenAddresses.size > 0 && { lookup: guardedLookup(forbiddenAddresses) }),
      ...(isTls && {
        ...(trust.insecure && { rejectUnauthorized: false }),
        ...(trust.secureContext && { secureContext: trust.secureContext }),
        checkServerIdentity: verifyHost(stripBrackets(url.hostname)),
      }),
    };
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = isTls ? httpsRequest(url, options) : httpRequest(url, options);
      outgoing.on("response", resolve);
      outgoing.on("error", reject);
      outgoing.end(body);
    });
    const proxyStatus = tunnel?.status() ?? 200;
    if (proxyStatus === 200) return { body: answer, remoteAddress: tunnel ? undefined : answer.socket.remoteAddress };
    // What a proxy says that makes no tunnel comes as if the registry had said it.
    answer.destroy();
    throw new Error(`proxy ${tunnel?.name}: ${explainProxyStatus(proxyStatus)}`);
  }

  async #tunnel(url: URL, { secureContext }: HostTrust, signal: AbortSignal): Promise<TunnelAgent | undefined> {
    const proxy = isLoopback(url.host) ? undefined : proxyFor(url.href);
    return proxy && (await createTunnelAgent(proxy, { signal, secureContext }));
  }

  #httpAgent(forbidden: ForbiddenAddresses): HttpAgent {
    return getOrCreate(this.#http, addressesKey(forbidden), () => new HttpAgent({ keepAlive: true, timeout: IDLE_MS }));
  }

  #httpsAgent({ secureContext, insecure }: HostTrust, forbidden: ForbiddenAddresses): HttpsAgent {
    const agents = getOrCreate(this.#https, insecure ? "any" : secureContext, () => new Map<string, HttpsAgent>());
    return getOrCreate(agents, addressesKey(forbidden), () => new HttpsAgent({ keepAlive: true, timeout: IDLE_MS }));
  }
}

function addressesKey(forbidden: ForbiddenAddresses): string {
  return [...forbidden].toSorted().join();
}

function getOrCreate<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const value = map.get(key) ?? make();
  map.set(key, value);
  return value;
}
