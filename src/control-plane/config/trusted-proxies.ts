import type { IncomingMessage } from "node:http";
import proxyAddr from "@fastify/proxy-addr";

/** Whether an address is that of a trusted proxy. */
export type IsTrusted = (address: string, hop: number) => boolean;

/** @param ranges addresses or ranges separated by commas; `undefined` for none */
export function parseTrustedProxies(ranges: string | undefined): IsTrusted {
  return proxyAddr.compile(ranges?.split(",").map((range) => range.trim()) ?? []);
}

/** Returns the address of the client: what the trusted proxies say, or that of the connection. */
export function clientAddress(request: IncomingMessage, isTrusted: IsTrusted): string | undefined {
  // Undefined once the connection has ended.
  return request.socket.remoteAddress === undefined ? undefined : proxyAddr(request, isTrusted);
}
