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
  /** HTTP status the proxy answered `CONNECT` with; `undefined` before it has. */
  status(): number | undefined;
}

const SCHEMES = new Set(["http:", "https:"]);

/**
 * The proxy the environment (`https_proxy`, `http_proxy`, `all_proxy`, `no_proxy`) names for a WebSocket address, or
 * `undefined` for none. Throws an error without the address in it, since that may carry a password.
 */
export function proxyFor(url: string): URL | undefined {
  // The variables are named after the schemes of HTTP, which the handshake is.
  const found = getProxyForUrl(url.replace(/^ws/, "http"));
  if (found === "") return undefined;
  const proxy = URL.parse(withScheme(found));
  if (!proxy) throw new Error("the proxy named in the environment is not an address");
  if (!SCHEMES.has(proxy.protocol)) {
    throw new Error(`a proxy of the kind ${proxy.protocol} is not supported: name one that speaks HTTP CONNECT`);
  }
  return proxy;
}

// For a proxy written without a scheme the library puts the target's, so that "proxy:3128" would be spoken to in TLS.
function withScheme(found: string): string {
  const names = ["https_proxy", "http_proxy", "all_proxy"];
  const written = names.flatMap((name) => [process.env[name], process.env[name.toUpperCase()]]);
  return written.includes(found) ? found : found.replace(/^https?:/, "http:");
}

export interface TunnelOptions {
  /** Closes the connection to the proxy, also while it is still silent. */
  readonly signal: AbortSignal;
  /** What to trust, where the proxy itself is spoken to in TLS. */
  readonly secureContext: SecureContext | undefined;
  /** Told of the connection to the proxy, to count what goes over it. */
  readonly wire?: CountedConnection;
}

/** A tunnel through a proxy (HTTP `CONNECT`), for one connection. */
export async function createTunnelAgent(proxy: URL, options: TunnelOptions): Promise<TunnelAgent> {
  // Loaded only where there is a proxy: most devices have none, and memory is short.
  const { HttpsProxyAgent } = await import("https-proxy-agent");
  const agent = new HttpsProxyAgent(proxy, {
    signal: options.signal,
    autoSelectFamilyAttemptTimeout: ADDRESS_TIMEOUT_MS,
    noDelay: true,
    ...(options.secureContext ? { secureContext: options.secureContext } : {}),
  });
  let status: number | undefined;
  agent.on("proxyConnect", (answer: { readonly statusCode: number }, request: ClientRequest) => {
    status = answer.statusCode;
    request.once("proxy", ({ socket }: { readonly socket: Socket }) => options.wire?.count(socket));
  });
  return { agent, name: proxy.host, status: () => status };
}
