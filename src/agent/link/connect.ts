import type { SecureContext, SecureContextOptions } from "node:tls";
import { type ClientOptions, WebSocket } from "ws";
import { MAX_FRAME_BYTES } from "../../protocol/limits.ts";
import { BOOT_ID_HEADER } from "../../protocol/version.ts";
import type { LinkConfig } from "./ports.ts";
import { stripBrackets } from "../core/net/hostname.ts";
import { ADDRESS_TIMEOUT_MS, verifyHost } from "../net/connect-options.ts";
import { createTunnelAgent, proxyFor } from "../net/proxy.ts";
import { TlsTicket } from "./tls-ticket.ts";
import { createTrustContext } from "../net/trust.ts";
import { CountedConnection } from "../net/counted-connection.ts";

/** A prepared connection to the control plane, directly or through a proxy. Can be opened once. */
export interface ControlPlaneRoute {
  /** Host and port of the proxy, if there is one. */
  readonly proxy: string | undefined;
  /** Byte counts of the connection to the control plane or the proxy. */
  readonly wire: Pick<CountedConnection, "sent" | "received">;
  /** HTTP status of the proxy's response to `CONNECT`; `undefined` before the response. */
  proxyStatus(): number | undefined;
  /** Starts connecting. Attach listeners in the same tick. Throws for an invalid URL. */
  open(): WebSocket;
}

/** Prepares a connection; `signal` closes it. Rejects if proxy or certificates are not usable. */
export type Connect = (signal: AbortSignal) => Promise<ControlPlaneRoute>;

/** Timeout of the closing handshake, in milliseconds. */
const CLOSE_TIMEOUT_MS = 2_000;

/**
 * TLS options of a connection that resumes a TLS 1.3 session. They shrink the handshake from some thousand bytes to a few
 * hundred: the post-quantum key share of a full handshake alone is two kilobytes, and a resumed session also derives its
 * keys from the first one, so a short key share is enough. If the server supports none of these options, the attempt
 * fails and the next one is a full handshake.
 */
const RESUMPTION_TLS_OPTIONS: Pick<SecureContextOptions, "ecdhCurve" | "ciphers" | "minVersion"> = {
  ecdhCurve: "X25519:P-256",
  ciphers: "TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256",
  minVersion: "TLSv1.3",
};

const DEFAULT_TLS_OPTIONS: SecureContextOptions = {};

/** Connects as configured, through the proxy from the environment if there is one. */
export function createConnect(config: LinkConfig, agentVersion: string): Connect {
  let trusted: { readonly tlsOptions: SecureContextOptions; readonly context: SecureContext } | undefined;
  const ticket = new TlsTicket();
  const address = URL.parse(config.url);
  const host = stripBrackets(address?.hostname ?? "");
  const isSecure = address?.protocol === "wss:";
  return async (signal) => {
    const { session, isTls13 = false } = ticket.take() ?? {};
    const tlsOptions = isTls13 ? RESUMPTION_TLS_OPTIONS : DEFAULT_TLS_OPTIONS;
    // Keeps one context at a time: each holds all the system's certificates.
    if (trusted?.tlsOptions !== tlsOptions) trusted = undefined;
    if (config.extraCa !== undefined)
      trusted ??= { tlsOptions, context: createTrustContext(config.extraCa, undefined, tlsOptions) };
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
      headers: {
        Authorization: `Bearer ${config.token}`,
        "User-Agent": `edge-agent/${agentVersion}`,
        ...(config.bootId !== undefined && { [BOOT_ID_HEADER]: config.bootId }),
      },
      // Frames are small and few; a deflate context costs memory on both sides for each connection.
      perMessageDeflate: false,
      maxPayload: MAX_FRAME_BYTES,
      closeTimeout: CLOSE_TIMEOUT_MS,
      // TCP keep-alive uses extra data and only reaches the proxy, if there is one.
      keepAlive: false,
      noDelay: true,
      autoSelectFamilyAttemptTimeout: ADDRESS_TIMEOUT_MS,
      checkServerIdentity: verifyHost(host),
      session,
      ...tlsOptions,
      ...(trusted && { secureContext: trusted.context }),
      ...(tunnel ? { agent: tunnel.agent } : { createConnection: wire.connector(isSecure, signal) }),
    };
    return {
      wire,
      proxy: tunnel?.name,
      proxyStatus: () => tunnel?.status(),
      open: () => {
        const socket = new WebSocket(config.url, options);
        if (isSecure) ticket.captureFrom(socket);
        return socket;
      },
    };
  };
}
