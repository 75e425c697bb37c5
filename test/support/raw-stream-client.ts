import { WebSocket } from "ws";
import { decodeStreamMessage, encodeStreamData, type StreamChannelId } from "../../src/protocol/link/stream-data.ts";
import { type DeviceStreamFrame, deviceStreamFrameSchema } from "../../src/protocol/link/streams.ts";
import { waitFor } from "./wait-for.ts";

/** A client of streams that the test controls, over a real WebSocket. */
export class RawStreamClient implements AsyncDisposable {
  readonly frames: DeviceStreamFrame[] = [];
  /** Sum of the data received. */
  bytes = 0;
  /** Resolves with the close code when the connection is closed. */
  readonly closed: Promise<number>;
  readonly #socket: WebSocket;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    this.closed = new Promise((resolve) => {
      socket.once("close", resolve);
    });
    socket.on("error", () => {});
    socket.on("message", (data: Buffer, isBinary) => {
      if (!isBinary) this.frames.push(deviceStreamFrameSchema.parse(JSON.parse(data.toString())));
      const decoded = isBinary ? decodeStreamMessage(data) : undefined;
      if (decoded?.kind === "data") this.bytes += decoded.bytes.length;
    });
  }

  /** Connects. Rejects with the HTTP status if that is refused. */
  static async connect(url: string, asset: string, app: string, apiKey: string): Promise<RawStreamClient> {
    const path = `/v1/assets/${encodeURIComponent(asset)}/edge/apps/${encodeURIComponent(app)}/stream`;
    const socket = new WebSocket(url.replace(/^http/, "ws") + path, { headers: { "X-API-Key": apiKey } });
    const client = new RawStreamClient(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once("open", () => resolve());
      socket.once("unexpected-response", (_request, { statusCode }) => reject(new Error(`HTTP ${statusCode}`)));
    });
    return client;
  }

  open(streamId: number, kind: string, params: unknown, credit: number = 65_536): void {
    this.send({ type: "stream_open", stream_id: streamId, kind, params, credit });
  }

  send(frame: unknown): void {
    this.#socket.send(JSON.stringify(frame));
  }

  data(streamId: number, channel: StreamChannelId, bytes: Uint8Array): void {
    this.#socket.send(encodeStreamData(streamId, channel, bytes));
  }

  raw(message: Uint8Array): void {
    this.#socket.send(message);
  }

  /** Waits for a frame of this type. */
  next<T extends DeviceStreamFrame["type"]>(type: T): Promise<Extract<DeviceStreamFrame, { type: T }>> {
    return waitFor(type, () => this.frames.find((frame) => frame.type === type)) as Promise<never>;
  }

  /** Stops reading. */
  freeze(): void {
    this.#socket.pause();
  }

  /** Resolves when everything sent so far has left this process. */
  async flushed(): Promise<void> {
    await waitFor("what was sent to leave", () => this.#socket.bufferedAmount === 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.terminate();
    await this.closed;
  }
}
