import { TLSSocket } from "node:tls";
import type { WebSocket } from "ws";

/** A TLS session that can be resumed. */
interface TlsSession {
  readonly session: Buffer;
  readonly isTls13: boolean;
}

/**
 * Keeps the ticket of the last TLS session in memory, so that the next connection can resume it. This saves the
 * certificate chain, some kilobytes for a public one, on every reconnect. A ticket is used once: the attempt after a
 * failed one makes a full handshake.
 */
export class TlsTicket {
  #session: TlsSession | undefined;

  /** Returns and removes the session to resume, if there is one. */
  take(): TlsSession | undefined {
    const session = this.#session;
    this.#session = undefined;
    return session;
  }

  /** Saves the tickets of a connection once it is open. */
  captureFrom(websocket: WebSocket): void {
    websocket.once("upgrade", ({ socket }) => {
      if (!(socket instanceof TLSSocket)) return;
      // Tickets arrive after the handshake, before or after the upgrade.
      const isTls13 = socket.getProtocol() === "TLSv1.3";
      const keep = (session: Buffer | undefined): void => {
        this.#session = session && { session, isTls13 };
      };
      keep(socket.getSession());
      socket.on("session", keep);
    });
  }
}
