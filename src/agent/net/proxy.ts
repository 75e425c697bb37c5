import type { Agent, ClientRequest } from "node:http";
import type { Socket } from "node:net";
import type { SecureContext } from "node:tls";
import { getProxyForUrl } from "proxy-from-env";
import { ADDRESS_TIMEOUT_MS } from "./connect-options.ts";
import type { CountedConnection } from "./counted-connection.ts";

export interface TunnelAgent {
  readonly agent: Agent;
  /** Host and port, without credentials. */
  readonly name: string;
  /** HTTP status of the proxy's response to `CONNECT`; `undefined` before the response. */
  status(): number | undefined;
}

const SCHEMES = new Set(["http:", "https:"]);

/**
 * Returns the proxy that the environment (`https_proxy`, `http_proxy`, `all_proxy`, `no_proxy`) sets for a URL, or
 * `undefined`. Errors do not contain the proxy's URL, which may hold a password.
 */
export function proxyFor(url: string): URL | undefined {
  // The variables are named after HTTP schemes; the WebSocket handshake is HTTP.
  const found = getProxyForUrl(url.replace(/^ws/, "http"));
  if (found === "") return undefined;
  const proxy = URL.parse(withScheme(found));
  if (!proxy) throw new Error("the proxy named in the environment is not an address");
  if (!SCHEMES.has(proxy.protocol)) {
    throw new Error(`a proxy of the kind ${proxy.protocol} is not supported: use one that supports HTTP CONNECT`);
  }
  return proxy;
}

// The library adds the target's scheme to a proxy without one, so "proxy:3128" would be contacted with TLS.
function withScheme(found: string): string {
  const names = ["https_proxy", "http_proxy", "all_proxy"];
  const written = names.flatMap((name) => [process.env[name], process.env[name.toUpperCase()]]);
  return written.includes(found) ? found : found.replace(/^https?:/, "http:");
}

export interface TunnelOptions {
  /** Closes the connection to the proxy, also before its response. */
  readonly signal: AbortSignal;
  /** Trusted certificates for an `https:` proxy. */
  readonly secureContext: SecureContext | undefined;
  /** Counts the connection to the proxy. */
  readonly wire?: Pick<CountedConnection, "count">;
}

/** Creates an HTTP agent that tunnels one connection through a proxy (HTTP `CONNECT`). */
export async function createTunnelAgent(proxy: URL, options: TunnelOptions): Promise<TunnelAgent> {
  // Loaded only if needed, to save memory: most devices have no proxy.
  const { HttpsProxyAgent } = await import("https-proxy-agent");
  const agent = new HttpsProxyAgent(proxy, {
    signal: options.signal,
    autoSelectFamilyAttemptTimeout: ADDRESS_TIMEOUT_MS,
    noDelay: true,
    ...(options.secureContext ? { secureContext: options.secureContext } : {}),
  });
  let status: number | undefined;
  agent.on("proxyConnect", (response: { readonly statusCode: number }, request: ClientRequest) => {
    status = response.statusCode;
    request.once("proxy", ({ socket }: { readonly socket: Socket }) => options.wire?.count(socket));
  });
  return { agent, name: proxy.host, status: () => status };
}
