import { isIP } from "node:net";
import { stripBrackets } from "../core/net/hostname.ts";
import { proxyFor } from "./proxy.ts";

/** A host and port to connect to. */
export interface Endpoint {
  /** Name or address, IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}

const PORTS: Readonly<Record<string, number>> = { "ws:": 80, "wss:": 443, "http:": 80, "https:": 443 };

/** Returns the control plane's endpoint. */
export function controlPlaneEndpoint(address: string): Endpoint {
  return toEndpoint(new URL(address));
}

/** Returns the endpoint of the first connection: the proxy if the environment sets one, else the control plane. */
export function firstEndpoint(address: string): Endpoint & { readonly isProxy: boolean } {
  const proxy = proxyFor(address);
  return { ...toEndpoint(proxy ?? new URL(address)), isProxy: proxy !== undefined };
}

/** Formats an endpoint as in a URL: IPv6 in brackets. */
export function formatEndpoint({ host, port }: Endpoint): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

function toEndpoint(url: URL): Endpoint {
  return {
    host: stripBrackets(url.hostname),
    port: url.port === "" ? (PORTS[url.protocol] ?? 0) : Number(url.port),
  };
}
