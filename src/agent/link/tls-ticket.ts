import { TLSSocket } from "node:tls";
import type { WebSocket } from "ws";

/**
 * Keeps the ticket of the last TLS session to resume it with the next one: that spares the certificates, some
 * kilobytes on every reconnect where the chain is a public one. In memory only. A ticket is used once, so that after a failed attempt everything is
 * negotiated and verified from the start.
 */
export class TlsTicket {
  #ticket: Buffer | undefined;

  /** The ticket to resume with, if there is one. */
  take(): Buffer | undefined {
    const ticket = this.#ticket;
    this.#ticket = undefined;
    return ticket;
  }

  /** Keeps the tickets of a connection, once it stands. */
  keepFrom(websocket: WebSocket): void {
    websocket.once("upgrade", ({ socket }) => {
      if (!(socket instanceof TLSSocket)) return;
      // Tickets come after the handshake, before the upgrade or behind it.
      this.#ticket = socket.getSession();
      socket.on("session", (ticket) => (this.#ticket = ticket));
    });
  }
}
