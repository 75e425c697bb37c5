import type { WebSocket } from "ws";
import type { ControlFrame } from "../../../protocol/link/frames.ts";
import type { Observer } from "../../metrics/observer.ts";
import type { StreamConnection } from "./session-streams.ts";

/** Maximum number of unsent bytes for a slow device: a few deployments and their acknowledgements. */
const MAX_BUFFERED_BYTES = 4 * 1024 * 1024;

/** The session that sends. */
export interface SendingSession {
  log(level: "warn", fields: object, message: string): void;
  /** Closes the connection without a handshake. */
  terminate(): void;
  /** The system has taken something: data of streams waits until nothing else does. */
  flushStreams(): void;
}

/** What is sent over one connection of a device: frames, and data of streams. */
export class SessionOutput implements StreamConnection {
  readonly #socket: WebSocket;
  readonly #observer: Observer | undefined;
  readonly #session: SendingSession;

  constructor(socket: WebSocket, observer: Observer | undefined, session: SendingSession) {
    this.#socket = socket;
    this.#observer = observer;
    this.#session = session;
  }

  get bufferedAmount(): number {
    return this.#socket.bufferedAmount;
  }

  send(message: Uint8Array): void {
    this.#observer?.sent(message.length);
    this.#socket.send(message, { binary: true }, this.#onSent);
  }

  sendFrame(frame: ControlFrame): void {
    const socket = this.#socket;
    if (socket.readyState !== socket.OPEN) return;
    const text = JSON.stringify(frame);
    this.#observer?.sent(Buffer.byteLength(text));
    socket.send(text, this.#onSent);
    if (socket.bufferedAmount <= MAX_BUFFERED_BYTES) return;
    this.#observer?.bounded("device_not_read");
    this.#session.log("warn", { buffered_bytes: socket.bufferedAmount }, "the device does not read; connection cut");
    this.#session.terminate();
  }

  readonly #onSent = (): void => this.#session.flushStreams();
}
