import type { IncomingMessage } from "node:http";
import { WebSocket } from "ws";
import type { Clock } from "../../lib/clock.ts";
import { parseJson } from "../../lib/parse-json.ts";
import { BodyTooLongError, readAll } from "../../lib/registry/read-body.ts";
import { CreditPool } from "../../lib/stream-receiver.ts";
import { StreamSender } from "../../lib/stream-sender.ts";
import { VERSION } from "../../lib/version.ts";
import { JSON_LIMITS } from "../../protocol/values/bounded-json.ts";
import { decodeStreamMessage } from "../../protocol/link/stream-data.ts";
import {
  type ClientStreamFrame,
  type DeviceStreamFrame,
  deviceStreamFrameSchema,
  MAX_STREAM_CREDIT,
  type StreamEnd,
  type StreamKind,
  type StreamParams,
} from "../../protocol/link/streams.ts";
import { toNetworkFailure } from "../api/network-failure.ts";
import { encodeSegment } from "../api/request.ts";
import { toServiceFailure } from "../api/service-failure.ts";
import { EXIT, Failure } from "../failure.ts";
import { hintFor } from "../hints.ts";
import { ClientStream } from "./client-stream.ts";
import { MAX_FRAME_BYTES } from "../../protocol/limits.ts";

const OPEN_TIMEOUT_MS = 30_000;
/** Memory for data that is not written to its destination yet. */
const MAX_RECEIVED_BYTES = 4 * 1024 * 1024;
const MAX_STREAMS = 16;
/** The service pings each 30 s. Without a sign of it for this long, it is gone. */
const SILENCE_MS = 75_000;

export interface ConnectionOptions {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly asset: string;
  readonly app: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** A connection to the service with streams to one app. Dispose it to close them. */
export class StreamConnection implements Disposable {
  /** Resolves when the connection is closed, with the reason. */
  readonly closed: Promise<Failure>;
  /** Data bytes over the device's link. */
  readonly bytes = { sent: 0, received: 0 };
  readonly #socket: WebSocket;
  readonly #options: ConnectionOptions;
  readonly #streams = new Map<number, ClientStream>();
  readonly #sender: StreamSender;
  readonly #pool = new CreditPool(MAX_RECEIVED_BYTES, MAX_STREAMS);
  #nextId = 1;
  #heardAt: number;
  #silence: Disposable | undefined;

  private constructor(socket: WebSocket, options: ConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    const flush = (): void => this.#sender.flush();
    this.#sender = new StreamSender(
      {
        get bufferedAmount() {
          return socket.bufferedAmount;
        },
        send: (message) => socket.send(message, { binary: true }, flush),
      },
      options.clock,
    );
    this.#heardAt = options.clock.monotonic();
    const heard = (): void => void (this.#heardAt = options.clock.monotonic());
    socket.on("ping", heard);
    socket.on("message", (data, isBinary) => {
      heard();
      if (isBinary) this.#onData(data as Buffer);
      else this.#onText(data as Buffer);
    });
    this.closed = new Promise((resolve) => {
      socket.on("close", (_code, reason) => resolve(this.#onClosed(reason.toString())));
    });
    this.#watchSilence();
  }

  /** Errors: `Failure`; after Ctrl-C the signal's reason. */
  static async open(options: ConnectionOptions): Promise<StreamConnection> {
    const { baseUrl, apiKey, asset, app, signal } = options;
    signal.throwIfAborted();
    const path = `/v1/assets/${encodeSegment(asset)}/edge/apps/${encodeSegment(app)}/stream`;
    const socket = new WebSocket(`${baseUrl.replace(/^http/, "ws").replace(/\/$/, "")}${path}`, {
      headers: { "X-API-Key": apiKey, "User-Agent": `edgectl/${VERSION}` },
      handshakeTimeout: OPEN_TIMEOUT_MS,
      perMessageDeflate: false,
      maxPayload: MAX_FRAME_BYTES,
    });
    const abort = (): void => socket.terminate();
    signal.addEventListener("abort", abort, { once: true });
    try {
      await new Promise<void>((resolve, reject) => {
        socket.once("open", () => resolve());
        // Stays for the life of the socket: an error without a listener ends the process. A later one settles nothing here.
        socket.on("error", (error) => reject(toNetworkFailure(baseUrl, error)));
        socket.once("unexpected-response", (_request, response) => {
          toRefusal(response).then(reject, reject);
        });
      });
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener("abort", abort);
    }
    return new StreamConnection(socket, options);
  }

  get isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN;
  }

  /** Opens a stream. Its `opened` rejects if the service or the device refuses it. */
  open<K extends StreamKind>(kind: K, params: StreamParams<K>): ClientStream {
    const id = this.#nextId++;
    const credit = this.#pool.open();
    const stream = new ClientStream({
      id,
      credit,
      sender: this.#sender,
      send: (frame) => this.#send(frame),
      onSent: (bytes) => void (this.bytes.sent += bytes),
      onClosed: () => this.#streams.delete(id),
    });
    this.#streams.set(id, stream);
    this.#send({ type: "stream_open", stream_id: id, kind, params, credit: credit.first });
    return stream;
  }

  /** Converts the end of a stream to a failure, if it is one. */
  failureOf(end: StreamEnd): Failure | undefined {
    const { code, message } = end;
    if (code === undefined) return undefined;
    const isMissing = code === "AppNotFound" || code === "AppPathNotFound";
    return new Failure(message ?? "The stream has ended with an error.", {
      exitCode: code === "Forbidden" ? EXIT.unauthorized : isMissing ? EXIT.notFound : EXIT.failed,
      code,
      hint: hintFor(code),
    });
  }

  [Symbol.dispose](): void {
    for (const stream of this.#streams.values()) stream[Symbol.dispose]();
    this.#silence?.[Symbol.dispose]();
    this.#socket.close(1000);
  }

  /** A connection may die without a word, as when this machine changes its network. */
  #watchSilence(): void {
    const { clock } = this.#options;
    const leftMs = this.#heardAt + SILENCE_MS - clock.monotonic();
    if (leftMs <= 0) return this.#socket.terminate();
    this.#silence = clock.timer(leftMs, () => this.#watchSilence());
  }

  #onText(message: Buffer): void {
    const parsed = deviceStreamFrameSchema.safeParse(parseJson(message, "stream_frame"));
    // A frame of a newer service.
    if (!parsed.success) return;
    this.#onFrame(parsed.data);
  }

  #onFrame(frame: DeviceStreamFrame): void {
    const stream = this.#streams.get(frame.stream_id);
    switch (frame.type) {
      case "stream_opened":
        return stream?.onOpened(frame.credit, frame.is_directory ?? false);
      case "stream_credit":
        this.#sender.grant(frame.stream_id, frame.bytes, MAX_STREAM_CREDIT);
        return;
      case "stream_close":
        this.#streams.delete(frame.stream_id);
        stream?.onEnd(frame, () => this.failureOf(frame) ?? new Error("the stream was closed before it was opened"));
    }
  }

  #onData(message: Buffer): void {
    const decoded = decodeStreamMessage(message);
    if (decoded?.kind === "arrived") {
      this.#sender.arrived(decoded.total);
      return;
    }
    if (!decoded) return;
    const { streamId, channel, bytes } = decoded;
    this.bytes.received += bytes.length;
    if (this.#streams.get(streamId)?.onData(channel, bytes) === false) this.#socket.terminate();
  }

  #onClosed(reason: string): Failure {
    this.#silence?.[Symbol.dispose]();
    const why = reason === "" ? "the connection was closed" : reason;
    const failure = toNetworkFailure(this.#options.baseUrl, new Error(why));
    this.#sender[Symbol.dispose]();
    const end = { code: "ServiceUnavailable", message: `The connection to the service ended: ${why}.` } as const;
    for (const stream of this.#streams.values()) stream.onEnd(end, () => failure);
    this.#streams.clear();
    return failure;
  }

  #send(frame: ClientStreamFrame): void {
    if (this.isOpen) this.#socket.send(JSON.stringify(frame), () => this.#sender.flush());
  }
}

async function toRefusal(response: IncomingMessage): Promise<Failure> {
  const body = await readAll(response, JSON_LIMITS.response.maxBytes).catch((error: unknown) => {
    // Its status says enough.
    if (error instanceof BodyTooLongError) return "";
    throw error;
  });
  const headers = Object.entries(response.headers).flatMap(([name, value]) =>
    typeof value === "string" ? [[name, value] as [string, string]] : [],
  );
  const status = response.statusCode ?? 500;
  // A response of this class must have a status from 200.
  return toServiceFailure(new Response(null, { status: status < 200 ? 500 : status, headers }), body.toString());
}
