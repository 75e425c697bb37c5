import { createServer, type IncomingMessage, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { type AgentFrame, decodeAgentFrame } from "../../../src/protocol/link/frames.ts";
import { waitFor } from "../wait-for.ts";

/** One session as the peer sees it. */
export interface PeerSession {
  readonly socket: WebSocket;
  readonly request: IncomingMessage;
  /** Frames received, in order. */
  readonly frames: AgentFrame[];
  /** Received messages that are not valid frames. */
  readonly unreadable: string[];
  pings: number;
  closeCode: number | undefined;
  send(frame: unknown): void;
}

interface PeerOptions {
  /** PEM key and certificate; enables TLS. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** Called for each frame. Default: `answerAll`. */
  readonly onFrame?: (session: PeerSession, frame: AgentFrame) => void;
  /** Called for each handshake; a returned response refuses it. */
  readonly refuse?: (request: IncomingMessage) => string | undefined;
}

export const ASSET = { uuid: "5c8a8a52-0000-4000-8000-000000000001", serial_number: "SN-1", name: "Gateway" };
export const WELCOME = { type: "welcome", protocol: 1, session_id: "s-1", asset: ASSET };

/** Replies to `hello` with `welcome` and acknowledges events. */
export function answerAll(session: PeerSession, frame: AgentFrame): void {
  if (frame.type === "hello") session.send(WELCOME);
  if (frame.type === "event") {
    session.send({ type: "event_ack", deployment_id: frame.deployment_id, device_seq: frame.event.device_seq });
  }
}

/** A WebSocket server on loopback that acts as a control plane controlled by the test. */
export class ControlPeer implements AsyncDisposable {
  readonly sessions: PeerSession[] = [];
  /** Number of handshakes, including refused ones. */
  handshakes = 0;
  readonly #options: PeerOptions;
  readonly #server: Server;
  readonly #websockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  readonly #connections = new Set<Duplex>();

  private constructor(options: PeerOptions) {
    this.#options = options;
    this.#server = options.tls ? createTlsServer(options.tls) : createServer();
    // As a control plane answers a request for no path of its own.
    this.#server.on("request", (_request, response) => response.writeHead(404).end());
    this.#server.on("connection", (socket: Duplex) => {
      this.#connections.add(socket);
      socket.on("close", () => this.#connections.delete(socket));
    });
    this.#server.on("upgrade", (request, socket, head) => {
      this.handshakes++;
      const refusal = options.refuse?.(request);
      if (refusal !== undefined) socket.end(refusal);
      else this.#websockets.handleUpgrade(request, socket, head, (ws) => this.#onSession(ws, request));
    });
  }

  static async start(options: PeerOptions = {}): Promise<ControlPeer> {
    const peer = new ControlPeer(options);
    await new Promise<void>((resolve) => {
      peer.#server.listen(0, "127.0.0.1", resolve);
    });
    return peer;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Number of open connections. */
  get connections(): number {
    return this.#connections.size;
  }

  /** Waits for session number `index`, counted from 0. */
  session(index: number): Promise<PeerSession> {
    return waitFor(`session ${index}`, () => this.sessions[index]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const connection of this.#connections) connection.destroy();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }

  #onSession(socket: WebSocket, request: IncomingMessage): void {
    const session: PeerSession = {
      socket,
      request,
      frames: [],
      unreadable: [],
      pings: 0,
      closeCode: undefined,
      send: (frame) => socket.send(JSON.stringify(frame)),
    };
    this.sessions.push(session);
    const onFrame = this.#options.onFrame ?? answerAll;
    socket.on("error", () => undefined);
    socket.on("ping", () => session.pings++);
    socket.on("close", (code) => (session.closeCode = code));
    socket.on("message", (data) => {
      const text = (data as Buffer).toString();
      const decoded = decodeAgentFrame(text);
      if (decoded.kind !== "frame") {
        session.unreadable.push(text);
        return;
      }
      session.frames.push(decoded.frame);
      onFrame(session, decoded.frame);
    });
  }
}

/** An HTTP response as text, to refuse a handshake. */
export function httpAnswer(status: string, headers: Readonly<Record<string, string>> = {}): string {
  const lines = Object.entries({ "Content-Length": "0", Connection: "close", ...headers });
  return [`HTTP/1.1 ${status}`, ...lines.map(([name, value]) => `${name}: ${value}`), "", ""].join("\r\n");
}
