import { request } from "node:http";
import { request as requestTls } from "node:https";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { stripBrackets } from "../core/net/hostname.ts";
import { controlPlaneEndpoint, type Endpoint, formatEndpoint } from "./endpoint.ts";
import { proxyFor } from "./proxy.ts";
import { createTrustContext } from "./trust.ts";

/** Opens a TCP connection. Rejects when it fails or the signal aborts. */
export function openSocket({ host, port }: Endpoint, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, signal });
    socket.once("connect", () => resolve(socket));
    // The listener stays attached: errors after the abort are ignored.
    socket.on("error", reject);
  });
}

export interface ProxyStream {
  /** HTTP status of the proxy's response to `CONNECT`. */
  readonly status: number;
  /** Connected to the target if the status is 200. */
  readonly stream: Duplex;
}

/**
 * Sends `CONNECT` to a proxy and resolves with its response, whatever the status. `createTunnelAgent` cannot do this: its
 * agent hands the connection only to an HTTP request, and hides a refusal behind a response of the target.
 */
export function openProxyStream(
  proxy: URL,
  target: Endpoint,
  extraCa: string | undefined,
  signal: AbortSignal,
): Promise<ProxyStream> {
  const credentials = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  const options = {
    host: stripBrackets(proxy.hostname),
    port: proxy.port || (proxy.protocol === "https:" ? 443 : 80),
    method: "CONNECT",
    path: formatEndpoint(target),
    agent: false,
    signal,
    headers:
      proxy.username === "" ? {} : { "Proxy-Authorization": `Basic ${Buffer.from(credentials).toString("base64")}` },
    ...(extraCa !== undefined && { secureContext: createTrustContext(extraCa) }),
  };
  return new Promise((resolve, reject) => {
    const call = proxy.protocol === "https:" ? requestTls(options) : request(options);
    call.once("connect", (response, stream) =>
      resolve({ status: response.statusCode ?? 0, stream: ignoreErrors(stream) }),
    );
    call.once("response", (response) =>
      resolve({ status: response.statusCode ?? 0, stream: ignoreErrors(response.socket) }),
    );
    call.on("error", reject);
    call.end();
  });
}

/** Opens a stream to the control plane by the same route as the link: directly, or through the proxy. */
export async function openControlPlaneStream(
  address: string,
  extraCa: string | undefined,
  signal: AbortSignal,
): Promise<Duplex> {
  const proxy = proxyFor(address);
  const target = controlPlaneEndpoint(address);
  return proxy ? (await openProxyStream(proxy, target, extraCa, signal)).stream : await openSocket(target, signal);
}

function ignoreErrors<T extends Duplex>(stream: T): T {
  return stream.on("error", () => undefined);
}
