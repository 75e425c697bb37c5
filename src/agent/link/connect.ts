import type { SecureContext, SecureContextOptions } from "node:tls";
import { type ClientOptions, WebSocket } from "ws";
import { MAX_FRAME_BYTES } from "../../protocol/limits.ts";
import type { LinkConfig } from "./ports.ts";
import { stripBrackets } from "../core/net/hostname.ts";
import { ADDRESS_TIMEOUT_MS, verifyHost } from "../net/connect-options.ts";
import { createTunnelAgent, proxyFor } from "../net/proxy.ts";
import { TlsTicket } from "./tls-ticket.ts";
import { createTrustContext } from "../net/trust.ts";
import { CountedConnection } from "../net/counted-connection.ts";

/** A way to the control plane, good for one connection. */
export interface ControlPlaneRoute {
  /** The proxy it leads through, as host and port. */
  readonly proxy: string | undefined;
  /** The connection to the control plane, or to the proxy: it counts what goes over. */
  readonly wire: Pick<CountedConnection, "sent" | "received">;
  /** The status with which that proxy answered `CONNECT`, once it has. */
  proxyStatus(): number | undefined;
  /** Begins to connect. The caller listens to the socket before it lets the event loop turn. Throws for an unusable address. */
  open(): WebSocket;
}

/** Finds a way to the control plane; `signal` cuts the connection. Throws where the configuration allows none. */
export type Connect = (signal: AbortSignal) => Promise<ControlPlaneRoute>;

/** How long the other side may take to answer a close, in milliseconds. */
const CLOSE_TIMEOUT_MS = 2_000;

/**
 * What is offered with a session of TLS 1.3 to resume: a few hundred bytes instead of some thousand. The first connection
 * exchanges keys in a way that quantum computers cannot break, and these are two kilobytes; those of a resumed session
 * follow from them too, so that short ones do beside. A server that knows none of this is met with everything next time.
 */
const RESUMING: Pick<SecureContextOptions, "ecdhCurve" | "ciphers" | "minVersion"> = {
  ecdhCurve: "X25519:P-256",
  ciphers: "TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256",
  minVersion: "TLSv1.3",
};

const DEFAULT_TLS_OPTIONS: SecureContextOptions = {};

/** Connects as configured, through the proxy the environment names. */
export function createConnect(config: LinkConfig, agentVersion: string): Connect {
  let trusted: { readonly terms: SecureContextOptions; readonly context: SecureContext } | undefined;
  const ticket = new TlsTicket();
  const address = URL.parse(config.url);
  const host = stripBrackets(address?.hostname ?? "");
  const isSecure = address?.protocol === "wss:";
  return async (signal) => {
    const { session, isTls13 = false } = ticket.take() ?? {};
    const terms = isTls13 ? RESUMING : DEFAULT_TLS_OPTIONS;
    // One at a time: each holds all the certificates of the system.
    if (trusted?.terms !== terms) trusted = undefined;
    if (config.extraCa !== undefined)
      trusted ??= { terms, context: createTrustContext(config.extraCa, undefined, terms) };
    const proxy = proxyFor(config.url);
    const wire = new CountedConnection();
    const tunnel =
      proxy &&
      (await createTunnelAgent(proxy, {
        signal,
        secureContext: trusted?.context,
        wire,
      }));
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
      checkServerIdentity: verifyHost(host),
      session,
      ...terms,
      ...(trusted && { secureContext: trusted.context }),
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
