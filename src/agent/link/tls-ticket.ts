import { TLSSocket } from "node:tls";
import type { WebSocket } from "ws";

/** What is needed to resume a TLS session. */
interface KeptSession {
  readonly session: Buffer;
  readonly isTls13: boolean;
}

/**
 * Keeps the ticket of the last TLS session to resume it with the next one: that spares the certificates, some
 * kilobytes on every reconnect where the chain is a public one. In memory only. A ticket is used once, so that after a
 * failed attempt everything is negotiated and verified from the start.
 */
export class TlsTicket {
  #kept: KeptSession | undefined;

  /** The ticket to resume with, if there is one. */
  take(): KeptSession | undefined {
    const kept = this.#kept;
    this.#kept = undefined;
    return kept;
  }

  /** Keeps the tickets of a connection, once it stands. */
  keepFrom(websocket: WebSocket): void {
    websocket.once("upgrade", ({ socket }) => {
      if (!(socket instanceof TLSSocket)) return;
      // Tickets come after the handshake, before the upgrade or behind it.
      const isTls13 = socket.getProtocol() === "TLSv1.3";
      const keep = (session: Buffer | undefined): void => {
        this.#kept = session && { session, isTls13 };
      };
      keep(socket.getSession());
      socket.on("session", keep);
    });
  }
}
