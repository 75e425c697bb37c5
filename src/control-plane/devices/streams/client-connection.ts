import type { WebSocket } from "ws";
import type { Clock } from "../../../lib/clock.ts";
import { parseJson } from "../../../lib/parse-json.ts";
import { RateLimiter } from "../../../lib/rate-limiter.ts";
import { ArrivalCounter } from "../../../lib/stream-receiver.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import { CLOSE_CODES } from "../../../protocol/link/frames.ts";
import { decodeStreamMessage, encodeStreamData } from "../../../protocol/link/stream-data.ts";
import {
  type ClientStreamFrame,
  clientStreamFrameSchema,
  type DeviceStreamFrame,
  MAX_STREAM_CREDIT,
  STREAM_PARAMS,
  type StreamEnd,
} from "../../../protocol/link/streams.ts";
import { STREAM_PERMISSIONS } from "../../core/permission.ts";
import type { DeviceStream } from "../session.ts";
import type { StreamGateway } from "../gateway/device-gateway.ts";
import type { ApiKey } from "../../store/accounts.ts";
import type { Access, AuditTrail } from "./audit-trail.ts";

/** Streams of one connection at a time. */
export const MAX_STREAMS_PER_CLIENT = 16;

/** A client that does not answer for this long is gone, in milliseconds. */
const PING_INTERVAL_MS = 30_000;

/** Messages of a client: burst, and rate per second. Above it, its connection is not read. */
const MAX_BURST_MESSAGES = 4_000;
const MAX_MESSAGES_PER_SECOND = 2_000;

/**
 * Maximum of what waits for a client that does not read: data up to the credit it has given, and answers to its frames. The
 * messages are counted as well, since a small one takes many times its size in memory.
 */
const MAX_BUFFERED_BYTES = (MAX_STREAMS_PER_CLIENT + 4) * MAX_STREAM_CREDIT;
const MAX_BUFFERED_MESSAGES = 32_768;

type Open = Extract<ClientStreamFrame, { type: "stream_open" }>;

/** What the account, its key and the memory of the service allow a connection. */
export interface ConnectionLimits {
  /** Counts an attempt to open a stream, refused or not. Throws `TooManyRequests`. */
  readonly chargeOpening: () => void;
  /** Takes one of the account's streams. Throws `TooManyRequests`. */
  readonly acquireStream: () => Disposable;
  /** Called when the connection is cut because the client does not read what is sent to it. */
  readonly onUnread: (waiting: { readonly bufferedBytes: number; readonly bufferedMessages: number }) => void;
}

export interface ClientConnectionOptions {
  readonly socket: WebSocket;
  readonly gateway: StreamGateway;
  readonly assetUuid: string;
  readonly app: string;
  readonly key: ApiKey;
  readonly trail: AuditTrail;
  readonly clock: Clock;
  readonly limits: ConnectionLimits;
}

interface ClientStream {
  readonly stream: DeviceStream;
  readonly slot: Disposable;
  readonly access: Access;
}

/** A client's connection with its streams to one app. Ends them when it is closed. */
export class ClientConnection {
  readonly #options: ClientConnectionOptions;
  readonly #streams = new Map<number, ClientStream>();
  readonly #arrivals: ArrivalCounter;
  readonly #rate: RateLimiter;
  #ping: Disposable | undefined;
  #resume: Disposable | undefined;
  #isAlive = true;
  /** Nothing of the client counts any more, also while its connection is still being closed. */
  #isClosed = false;
  #bufferedMessages = 0;

  constructor(options: ClientConnectionOptions) {
    this.#options = options;
    const { socket, clock } = options;
    this.#rate = new RateLimiter(clock, MAX_BURST_MESSAGES, MAX_MESSAGES_PER_SECOND);
    this.#arrivals = new ArrivalCounter({
      get bufferedAmount() {
        return socket.bufferedAmount;
      },
      send: (message) => this.#sendBinary(message),
    });
    socket.on("message", (data, isBinary) => {
      this.#isAlive = true;
      if (this.#isClosed) return;
      this.#limitRate();
      if (isBinary) this.#onData(data as Buffer);
      else this.#onText(data as Buffer);
    });
    socket.on("pong", () => (this.#isAlive = true));
    // The close follows.
    socket.on("error", () => undefined);
    socket.on("close", () => this.#onClosed());
    this.#armPing();
  }

  close(code: number, reason: string): void {
    this.#isClosed = true;
    this.#options.socket.close(code, reason);
    this.#endStreams();
  }

  #onText(text: Buffer): void {
    const parsed = clientStreamFrameSchema.safeParse(parseJson(text, "stream_frame"));
    if (!parsed.success) return this.close(CLOSE_CODES.badFrame, "not a frame of this protocol");
    const frame = parsed.data;
    if (frame.type === "stream_open") return this.#open(frame);
    // The stream may have ended while the frame was on its way.
    const open = this.#streams.get(frame.stream_id);
    switch (frame.type) {
      case "stream_credit":
        if (open && !open.stream.credit(frame.bytes))
          this.close(CLOSE_CODES.badFrame, `a stream has at most ${MAX_STREAM_CREDIT} bytes of credit`);
        return;
      case "stream_resize":
        return open?.stream.resize(frame.columns, frame.rows);
      case "stream_close":
        if (open) this.#end(frame.stream_id, open, undefined);
    }
  }

  #onData(message: Buffer): void {
    const decoded = decodeStreamMessage(message);
    if (decoded?.kind !== "data") return this.close(CLOSE_CODES.badFrame, "not data of a stream");
    const { streamId, channel, bytes } = decoded;
    this.#arrivals.add(decoded);
    const open = this.#streams.get(streamId);
    if (!open) return;
    open.access.sent += bytes.length;
    if (!open.stream.send(channel, bytes)) this.close(CLOSE_CODES.badFrame, "data without credit, or after its end");
  }

  #open(frame: Open): void {
    const id = frame.stream_id;
    if (this.#streams.has(id)) return this.close(CLOSE_CODES.badFrame, "a stream of this id is open");
    try {
      this.#options.limits.chargeOpening();
      this.#streams.set(id, this.#openOnDevice(frame));
    } catch (error) {
      if (!(error instanceof EdgeError)) throw error;
      this.#send({ type: "stream_close", stream_id: id, code: error.code, message: error.message });
    }
  }

  #openOnDevice({ stream_id: id, kind, params: unchecked, credit }: Open): ClientStream {
    const { gateway, assetUuid, app, key, trail, limits } = this.#options;
    const parsed = STREAM_PARAMS[kind].safeParse(unchecked);
    const permission = STREAM_PERMISSIONS[kind];
    if (!key.permissions.includes(permission)) {
      trail.refuse(kind, parsed.data, "Forbidden");
      throw new EdgeError("Forbidden", `The API key does not have the permission ${permission}.`, { permission });
    }
    if (!parsed.success) {
      const reasons = parsed.error.issues.slice(0, 3).map(({ path, message }) => `${path.join(".")}: ${message}`);
      throw new EdgeError("InvalidRequest", `The parameters of the stream are not valid: ${reasons.join("; ")}.`);
    }
    if (this.#streams.size >= MAX_STREAMS_PER_CLIENT) {
      throw new EdgeError("TooManyRequests", `A connection has at most ${MAX_STREAMS_PER_CLIENT} streams at a time.`);
    }
    using resources = new DisposableStack();
    const slot = resources.use(limits.acquireStream());
    const params = parsed.data;
    const access = trail.begin(kind, params);
    // Whether the device is connected is known to the gateway alone: a refusal comes as the end of the stream.
    const stream = gateway.openStream(
      assetUuid,
      { kind, app, params, credit, by: key.id },
      {
        opened: (facts) => this.#send({ type: "stream_opened", stream_id: id, ...facts }),
        data: (channel, bytes) => {
          access.received += bytes.length;
          this.#sendBinary(encodeStreamData(id, channel, bytes));
        },
        credit: (bytes) => this.#send({ type: "stream_credit", stream_id: id, bytes }),
        end: (end) => {
          const open = this.#streams.get(id);
          if (open) this.#end(id, open, end);
        },
      },
    );
    resources.move();
    return { stream, slot, access };
  }

  /** @param end what to tell the client; `undefined` if it has closed the stream itself */
  #end(id: number, { stream, slot, access }: ClientStream, end: StreamEnd | undefined): void {
    this.#streams.delete(id);
    stream[Symbol.dispose]();
    slot[Symbol.dispose]();
    this.#options.trail.end(access, end?.code);
    if (end) this.#send({ type: "stream_close", stream_id: id, ...end });
  }

  #endStreams(): void {
    for (const [id, open] of this.#streams) this.#end(id, open, undefined);
  }

  #send(frame: DeviceStreamFrame): void {
    this.#sendCounted((onSent) => this.#options.socket.send(JSON.stringify(frame), onSent));
  }

  #sendBinary(message: Uint8Array): void {
    this.#sendCounted((onSent) => this.#options.socket.send(message, { binary: true }, onSent));
  }

  #sendCounted(send: (onSent: () => void) => void): void {
    const { socket } = this.#options;
    if (socket.readyState !== socket.OPEN) return;
    this.#bufferedMessages++;
    send(() => {
      this.#bufferedMessages--;
      this.#arrivals.flush();
    });
    if (socket.bufferedAmount <= MAX_BUFFERED_BYTES && this.#bufferedMessages <= MAX_BUFFERED_MESSAGES) return;
    this.#options.limits.onUnread({ bufferedBytes: socket.bufferedAmount, bufferedMessages: this.#bufferedMessages });
    this.#isClosed = true;
    // The close follows, and ends the streams.
    socket.terminate();
  }

  /** Too many messages are not read for as long as it takes. */
  #limitRate(): void {
    const { socket, clock } = this.#options;
    const waitMs = this.#rate.charge(1);
    if (waitMs <= 0 || this.#resume) return;
    socket.pause();
    this.#resume = clock.timer(waitMs, () => {
      this.#resume = undefined;
      socket.resume();
    });
  }

  #armPing(): void {
    this.#ping = this.#options.clock.timer(PING_INTERVAL_MS, () => {
      if (!this.#isAlive) return this.#options.socket.terminate();
      this.#isAlive = false;
      this.#options.socket.ping();
      this.#armPing();
    });
  }

  #onClosed(): void {
    this.#isClosed = true;
    this.#ping?.[Symbol.dispose]();
    this.#resume?.[Symbol.dispose]();
    this.#endStreams();
    this.#options.trail.close();
  }
}
