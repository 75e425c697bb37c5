import { connect as connectTcp, type NetConnectOpts, type Socket } from "node:net";
import { connect as connectTls, type ConnectionOptions } from "node:tls";

/** Callback of `createConnection`: receives the connection, or the error. */
type Done = (error: Error | null, socket?: Socket) => void;

/** Counts the bytes of a TCP connection, including TLS overhead, which a TLS socket does not count. */
export class CountedConnection {
  #socket: Socket | undefined;

  /** Sets the connection to count, from its first byte. */
  count(socket: Socket): void {
    this.#socket = socket;
  }

  get sent(): number {
    return this.#socket?.bytesWritten ?? 0;
  }

  get received(): number {
    return this.#socket?.bytesRead ?? 0;
  }

  /** Returns a `createConnection` for an HTTP request. `signal` also aborts a pending connection attempt. */
  connector(isSecure: boolean, signal: AbortSignal): (options: ConnectionOptions, done: Done) => undefined {
    return (options, done) => {
      const tcp = connectTcp({ ...(options as NetConnectOpts), signal });
      this.count(tcp);
      tcp.once("error", done);
      tcp.once("connect", () => {
        tcp.off("error", done);
        // Only once connected: Node.js replaces the handle while it tries one address after the other.
        done(
          null,
          isSecure ? connectTls({ ...options, host: undefined, port: undefined, path: undefined, socket: tcp }) : tcp,
        );
      });
    };
  }
}
