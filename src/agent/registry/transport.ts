import { type Agent as HttpAgent, type IncomingMessage, request as httpRequest, type RequestOptions } from "node:http";
import { type Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { Socket } from "node:net";
import type { SecureContext } from "node:tls";
import type { Clock } from "../../lib/clock.ts";
import { deadline } from "../../lib/clock.ts";
import type { RegistryRequest, RegistryResponse } from "../../lib/registry/http.ts";
import { isLoopback, stripBrackets } from "../core/net/hostname.ts";
import { explainProxyStatus } from "../core/net/proxy-status.ts";
import { ADDRESS_TIMEOUT_MS, verifyHost } from "../net/connect-options.ts";
import { countedHttpAgent, countedHttpsAgent } from "../net/counted-agents.ts";
import { type TunnelAgent, createTunnelAgent, proxyFor } from "../net/proxy.ts";
import { type ForbiddenAddresses, guardedLookup, rejectForbiddenAddress } from "./local-address.ts";
import { RegistryError } from "./registry-error.ts";

/** Trust settings of a host. */
export interface HostTrust {
  /** Allows plain HTTP and any certificate. */
  readonly insecure: boolean;
  /** Trusted certificates in place of Node.js's default. */
  readonly secureContext?: SecureContext | undefined;
  /** Further token servers that may get the registry's credentials: hosts, with a port or for all ports. */
  readonly authHosts?: readonly string[] | undefined;
}

export interface RegistryHttpRequest extends RegistryRequest {
  readonly body?: string;
  readonly trust: HostTrust;
  /** Addresses that this request must not go to. Not enforced for names behind a proxy, which looks them up itself. */
  readonly forbiddenAddresses?: ForbiddenAddresses;
}

export interface RegistryHttpResponse extends RegistryResponse {
  /** IP address that responded; `undefined` behind a proxy. */
  readonly remoteAddress: string | undefined;
}

export interface TransportOptions {
  readonly clock: Clock;
  readonly userAgent: string;
  /** Timeout until the response headers, in milliseconds. */
  readonly responseTimeoutMs: number;
  /** Called with each TCP connection, from its first byte. */
  readonly onConnection?: ((tcp: Socket) => void) | undefined;
}

/** Idle connections are kept for the next request of the same pull. */
const POOL = { keepAlive: true, timeout: 15_000 };
/** Maximum number of hosts with connections that are kept, for each set of trusted certificates. */
const MAX_HOSTS = 32;

const NONE_FORBIDDEN: ForbiddenAddresses = new Set();

/** Sends single requests over HTTP and HTTPS, through the proxy from the environment. Does not follow redirects. */
export class Transport {
  readonly #options: TransportOptions;
  /** One for each set of forbidden addresses, so that an unchecked connection is not reused by a checked request. */
  readonly #http = new Map<string, HttpAgent>();
  /** Also one for each host and each set of trusted certificates, so that connections are not reused across them. */
  readonly #https = new Map<SecureContext | "any" | undefined, Map<string, HttpsAgent>>();

  constructor(options: TransportOptions) {
    this.#options = options;
  }

  /**
   * Resolves with the headers. Rejects with the system's error, a `TimeoutError`, or the signal's reason. The signal also
   * aborts the body.
   */
  async send(outgoing: RegistryHttpRequest, signal: AbortSignal): Promise<RegistryHttpResponse> {
    signal.throwIfAborted();
    using limit = deadline(this.#options.clock, this.#options.responseTimeoutMs, signal);
    const canceller = new AbortController();
    const onAbort = (): void => canceller.abort(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    const onLimit = (): void => canceller.abort(limit.signal.reason);
    limit.signal.addEventListener("abort", onLimit, { once: true });
    try {
      const { body, remoteAddress } = await this.#request(outgoing, canceller.signal);
      // The timeout does not apply to the body.
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
      attemptSignal: signal,
      headers: { "User-Agent": this.#options.userAgent, "Accept-Encoding": "identity", ...headers },
      autoSelectFamilyAttemptTimeout: ADDRESS_TIMEOUT_MS,
      agent:
        tunnel?.agent ??
        (isTls ? this.#httpsAgent(url, trust, forbiddenAddresses) : this.#httpAgent(forbiddenAddresses)),
      ...(forbiddenAddresses.size > 0 && { lookup: guardedLookup(forbiddenAddresses) }),
      ...(isTls && {
        ...(trust.insecure && { rejectUnauthorized: false }),
        ...(trust.secureContext && { secureContext: trust.secureContext }),
        // Otherwise the agent verifies it: Node.js uses no connection again whose request brings a check of its own.
        ...(tunnel && { checkServerIdentity: verifyHost(stripBrackets(url.hostname)) }),
      }),
    };
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = isTls ? httpsRequest(url, options) : httpRequest(url, options);
      outgoing.on("response", resolve);
      outgoing.on("error", reject);
      // Comes alone where the server switches protocols.
      outgoing.on("close", () => reject(new RegistryError("unsupported", `${url.host} does not respond with HTTP`)));
      outgoing.end(body);
    });
    const proxyStatus = tunnel?.status() ?? 200;
    if (proxyStatus === 200)
      return { body: response, remoteAddress: tunnel ? undefined : response.socket.remoteAddress };
    // The agent returns the proxy's refusal as if it were the registry's response.
    response.destroy();
    throw new Error(`proxy ${tunnel?.name}: ${explainProxyStatus(proxyStatus)}`);
  }

  async #tunnel(url: URL, { secureContext }: HostTrust, signal: AbortSignal): Promise<TunnelAgent | undefined> {
    const proxy = isLoopback(url.host) ? undefined : proxyFor(url.href);
    const { onConnection = uncounted } = this.#options;
    const wire = { count: onConnection };
    return proxy && (await createTunnelAgent(proxy, { signal, secureContext, wire }));
  }

  #httpAgent(forbidden: ForbiddenAddresses): HttpAgent {
    const { onConnection = uncounted } = this.#options;
    return getOrCreate(this.#http, addressesKey(forbidden), () => countedHttpAgent(POOL, onConnection));
  }

  #httpsAgent({ hostname }: URL, { secureContext, insecure }: HostTrust, forbidden: ForbiddenAddresses): HttpsAgent {
    const { onConnection = uncounted } = this.#options;
    const agents = getOrCreate(this.#https, insecure ? "any" : secureContext, () => new Map<string, HttpsAgent>());
    const key = `${hostname} ${addressesKey(forbidden)}`;
    // Storage hosts change. Connections of one that is left out end by themselves.
    if (!agents.has(key) && agents.size === MAX_HOSTS) agents.delete(agents.keys().next().value ?? "");
    const checkServerIdentity = verifyHost(stripBrackets(hostname));
    return getOrCreate(agents, key, () => countedHttpsAgent({ ...POOL, checkServerIdentity }, onConnection));
  }
}

const uncounted = (): void => undefined;

function addressesKey(forbidden: ForbiddenAddresses): string {
  return [...forbidden].toSorted().join();
}

function getOrCreate<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const value = map.get(key) ?? make();
  map.set(key, value);
  return value;
}
