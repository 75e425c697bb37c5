import { request } from "node:http";
import { request as requestTls } from "node:https";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { proxyFor } from "../net/proxy.ts";
import { createTrustContext } from "../net/trust.ts";
import { controlPlaneEndpoint, type Endpoint, formatEndpoint } from "../net/endpoint.ts";

/** Connects; rejects when it cannot, or the signal aborts. */
export function openSocket({ host, port }: Endpoint, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, signal });
    socket.once("connect", () => resolve(socket));
    // Stays: what happens after the signal has aborted concerns nobody.
    socket.on("error", reject);
  });
}

export interface Tunnel {
  /** HTTP status the proxy answered `CONNECT` with. */
  readonly status: number;
  /** Leads to the target where the status is 200. */
  readonly stream: Duplex;
}

/** Asks a proxy for a tunnel. */
export function openProxyTunnel(
  proxy: URL,
  target: Endpoint,
  extraCa: string | undefined,
  signal: AbortSignal,
): Promise<Tunnel> {
  const credentials = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  const options = {
    host: proxy.hostname.replaceAll(/[[\]]/g, ""),
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
    call.once("connect", (response, stream) => resolve({ status: response.statusCode ?? 0, stream: quiet(stream) }));
    call.once("response", (response) => resolve({ status: response.statusCode ?? 0, stream: quiet(response.socket) }));
    call.on("error", reject);
    call.end();
  });
}

function quiet<T extends Duplex>(stream: T): T {
  return stream.on("error", () => undefined);
}

/** A stream to the control plane, on the way the link takes. */
export async function openControlPlaneStream(
  address: string,
  extraCa: string | undefined,
  signal: AbortSignal,
): Promise<Duplex> {
  const proxy = proxyFor(address);
  const target = controlPlaneEndpoint(address);
  return proxy ? (await openProxyTunnel(proxy, target, extraCa, signal)).stream : await openSocket(target, signal);
}
