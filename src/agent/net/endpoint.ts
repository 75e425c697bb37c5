import { isIP } from "node:net";
import { stripBrackets } from "../core/net/hostname.ts";
import { proxyFor } from "./proxy.ts";

/** A host and port that is connected to. */
export interface Endpoint {
  /** Name or address, IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}

const PORTS: Readonly<Record<string, number>> = { "ws:": 80, "wss:": 443, "http:": 80, "https:": 443 };

/** Where the control plane is. */
export function controlPlaneEndpoint(address: string): Endpoint {
  return toEndpoint(new URL(address));
}

/** What this device connects to first: the proxy, where the environment names one, else the control plane. */
export function firstEndpoint(address: string): Endpoint & { readonly isProxy: boolean } {
  const proxy = proxyFor(address);
  return { ...toEndpoint(proxy ?? new URL(address)), isProxy: proxy !== undefined };
}

/** As it is written in an address. */
export function formatEndpoint({ host, port }: Endpoint): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

function toEndpoint(url: URL): Endpoint {
  return {
    host: stripBrackets(url.hostname),
    port: url.port === "" ? (PORTS[url.protocol] ?? 0) : Number(url.port),
  };
}
