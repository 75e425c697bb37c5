import { connect as connectTcp, type NetConnectOpts, type Socket } from "node:net";
import { connect as connectTls, type ConnectionOptions } from "node:tls";

/** Hands a connection to whoever asked for it, or the reason there is none. */
type Done = (error: Error | null, socket?: Socket) => void;

/**
 * The TCP connection under a session: what is counted here is what goes over the wire, TLS included, which a TLS
 * connection itself does not tell.
 */
export class CountedConnection {
  #socket: Socket | undefined;

  /** Counts this connection from its first byte on. */
  count(socket: Socket): void {
    this.#socket = socket;
  }

  get sent(): number {
    return this.#socket?.bytesWritten ?? 0;
  }

  get received(): number {
    return this.#socket?.bytesRead ?? 0;
  }

  /** Connects for an HTTP request, in TLS where `isSecure`; `signal` cuts also what is not connected yet. */
  connector(isSecure: boolean, signal: AbortSignal): (options: ConnectionOptions, done: Done) => undefined {
    return (options, done) => {
      const tcp = connectTcp({ ...(options as NetConnectOpts), signal });
      this.count(tcp);
      tcp.once("error", done);
      tcp.once("connect", () => {
        tcp.off("error", done);
        // Not before it stands: Node changes the connection beneath while it tries one address after the other.
        done(
          null,
          isSecure ? connectTls({ ...options, host: undefined, port: undefined, path: undefined, socket: tcp }) : tcp,
        );
      });
    };
  }
}
