import { Agent as HttpAgent, type IncomingMessage, request as httpRequest, type RequestOptions } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { checkServerIdentity, type PeerCertificate, type SecureContext } from "node:tls";
import type { Clock } from "../../lib/clock.ts";
import { deadline } from "../../lib/clock.ts";
import { outcomeOfProxyStatus } from "../core/link-outcome.ts";
import { type ProxyTunnel, openTunnel, proxyFor } from "../link/proxy.ts";
import { isLoopback } from "./address.ts";

/** How a host is spoken to. */
export interface HostTrust {
  /** Plain HTTP will do, and any certificate. */
  readonly insecure: boolean;
  /** What to trust in place of Node's own list. */
  readonly secureContext?: SecureContext | undefined;
}

export interface Outgoing {
  readonly method: "GET" | "HEAD" | "POST";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly trust: HostTrust;
}

/** An answer whose body is still to come: whoever gets it reads or destroys it. */
export interface Incoming {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: IncomingMessage;
  /** Where the answer came from. */
  readonly url: URL;
}

export interface TransportOptions {
  readonly clock: Clock;
  readonly userAgent: string;
  /** How long a host may take until its answer begins, in milliseconds. */
  readonly answerMs: number;
}

// Node gives every address of a host but the last half a second, less than a poor cellular link takes.
const ADDRESS_TIMEOUT_MS = 5_000;
/** An idle connection is kept for the next request of the same pull, no longer. */
const IDLE_MS = 15_000;

/** Sends single requests over HTTP and HTTPS, through the proxy the environment names. Follows nothing. */
export class Transport {
  readonly #options: TransportOptions;
  readonly #http = new HttpAgent({ keepAlive: true, timeout: IDLE_MS });
  /** One for each set of certificates: a connection made with one must not serve another. */
  readonly #https = new Map<SecureContext | "any" | undefined, HttpsAgent>();

  constructor(options: TransportOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the headers are there. Rejects with what the system says, a `TimeoutError`, or the signal's reason;
   * the signal also cuts the body off.
   */
  async send(outgoing: Outgoing, signal: AbortSignal): Promise<Incoming> {
    signal.throwIfAborted();
    using limit = deadline(this.#options.clock, this.#options.answerMs, signal);
    const cut = new AbortController();
    const onAbort = (): void => cut.abort(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    const onLimit = (): void => cut.abort(limit.signal.reason);
    limit.signal.addEventListener("abort", onLimit, { once: true });
    try {
      const body = await this.#request(outgoing, cut.signal);
      // From here on only the caller ends it: a body may take as long as it takes.
      limit.signal.removeEventListener("abort", onLimit);
      body.once("close", () => signal.removeEventListener("abort", onAbort));
      return { status: body.statusCode ?? 0, headers: body.headers, body, url: outgoing.url };
    } catch (error) {
      signal.removeEventListener("abort", onAbort);
      signal.throwIfAborted();
      throw limit.signal.aborted ? limit.signal.reason : error;
    }
  }

  async #request({ method, url, headers, body, trust }: Outgoing, signal: AbortSignal): Promise<IncomingMessage> {
    const isTls = url.protocol === "https:";
    const tunnel = await this.#tunnel(url, trust, signal);
    const host = url.hostname.replaceAll(/[[\]]/g, "");
    const options: RequestOptions & Record<string, unknown> = {
      method,
      signal,
      headers: { "User-Agent": this.#options.userAgent, "Accept-Encoding": "identity", ...headers },
      autoSelectFamilyAttemptTimeout: ADDRESS_TIMEOUT_MS,
      agent: tunnel?.agent ?? (isTls ? this.#httpsAgent(trust) : this.#http),
      ...(isTls && {
        ...(trust.insecure && { rejectUnauthorized: false }),
        ...(trust.secureContext && { secureContext: trust.secureContext }),
        // Behind a proxy Node would hold the certificate of a host named by its address against "localhost".
        checkServerIdentity: (_name: string, certificate: PeerCertificate) => checkServerIdentity(host, certificate),
      }),
    };
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = isTls ? httpsRequest(url, options) : httpRequest(url, options);
      outgoing.on("response", resolve);
      outgoing.on("error", reject);
      outgoing.end(body);
    });
    const proxyStatus = tunnel?.status() ?? 200;
    if (proxyStatus === 200) return answer;
    // What a proxy says that makes no tunnel comes as if the registry had said it.
    answer.destroy();
    throw new Error(`proxy ${tunnel?.name}: ${outcomeOfProxyStatus(proxyStatus, undefined).reason}`);
  }

  async #tunnel(url: URL, { secureContext }: HostTrust, signal: AbortSignal): Promise<ProxyTunnel | undefined> {
    const proxy = isLoopback(url.host) ? undefined : proxyFor(url.href);
    return proxy && (await openTunnel(proxy, { signal, secureContext, addressTimeoutMs: ADDRESS_TIMEOUT_MS }));
  }

  #httpsAgent({ secureContext, insecure }: HostTrust): HttpsAgent {
    const key = insecure ? "any" : secureContext;
    const agent = this.#https.get(key) ?? new HttpsAgent({ keepAlive: true, timeout: IDLE_MS });
    this.#https.set(key, agent);
    return agent;
  }
}
