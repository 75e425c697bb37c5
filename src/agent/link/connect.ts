import { checkServerIdentity, type PeerCertificate, type SecureContext } from "node:tls";
import { type ClientOptions, WebSocket } from "ws";
import { MAX_FRAME_BYTES } from "../../protocol/limits.ts";
import type { LinkConfig } from "./link-config.ts";
import { openTunnel, proxyFor } from "./proxy.ts";
import { TlsTicket } from "./tls-ticket.ts";
import { trustAlso } from "./trust.ts";
import { Wire } from "./wire.ts";

/** A way to the control plane, good for one connection. */
export interface Route {
  /** The proxy it leads through, as host and port. */
  readonly proxy: string | undefined;
  /** The connection to the control plane, or to the proxy: it counts what goes over. */
  readonly wire: Pick<Wire, "sent" | "received">;
  /** The status with which that proxy answered `CONNECT`, once it has. */
  proxyStatus(): number | undefined;
  /** Begins to connect. The caller listens to the socket before it lets the event loop turn. Throws for an unusable address. */
  open(): WebSocket;
}

/** Finds a way to the control plane; `signal` cuts the connection. Throws where the configuration allows none. */
export type Connect = (signal: AbortSignal) => Promise<Route>;

/** How long the other side may take to answer a close, in milliseconds. */
const CLOSE_TIMEOUT_MS = 2_000;

// Node gives every address of a host but the last half a second, less than a poor cellular link takes.
const ADDRESS_TIMEOUT_MS = 5_000;

/** Connects as configured, through the proxy the environment names. */
export function createConnect(config: LinkConfig, agentVersion: string): Connect {
  let trusted: SecureContext | undefined;
  const ticket = new TlsTicket();
  const address = URL.parse(config.url);
  const host = address?.hostname.replaceAll(/[[\]]/g, "") ?? "";
  const isSecure = address?.protocol === "wss:";
  return async (signal) => {
    if (config.extraCa !== undefined) trusted ??= trustAlso(config.extraCa);
    const proxy = proxyFor(config.url);
    const wire = new Wire();
    const tunnel =
      proxy &&
      (await openTunnel(proxy, { signal, secureContext: trusted, addressTimeoutMs: ADDRESS_TIMEOUT_MS, wire }));
    const options: Omit<ClientOptions, "checkServerIdentity" | "createConnection"> & Record<string, unknown> = {
      headers: { Authorization: `Bearer ${config.token}`, "User-Agent": `edge-agent/${agentVersion}` },
      // Frames are small and few; a deflate context would cost memory on both sides for each connection.
      perMessageDeflate: false,
      maxPayload: MAX_FRAME_BYTES,
      closeTimeout: CLOSE_TIMEOUT_MS,
      // TCP's own keep-alive would spend data beside ours, and says nothing of what lies behind a proxy.
      keepAlive: false,
      noDelay: true,
      autoSelectFamilyAttemptTimeout: ADDRESS_TIMEOUT_MS,
      // Behind a proxy Node would hold the certificate of a host named by its address against "localhost".
      checkServerIdentity: (_name: string, certificate: PeerCertificate) => checkServerIdentity(host, certificate),
      session: ticket.take(),
      ...(trusted ? { secureContext: trusted } : {}),
      ...(tunnel ? { agent: tunnel.agent } : { createConnection: wire.connector(isSecure, signal) }),
    };
    return {
      wire,
      proxy: tunnel?.name,
      proxyStatus: () => tunnel?.status(),
      open: () => {
        const socket = new WebSocket(config.url, options);
        ticket.keepFrom(socket);
        return socket;
      },
    };
  };
}
