import type { Clock } from "../../../lib/clock.ts";
import { ArrivalCounter } from "../../../lib/stream-receiver.ts";
import { StreamSender, type StreamSink as DataSink } from "../../../lib/stream-sender.ts";
import { parseJson } from "../../../lib/parse-json.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import type { ControlFrame } from "../../../protocol/link/frames.ts";
import { decodeStreamMessage, type StreamChannelId, STREAM_CHANNELS } from "../../../protocol/link/stream-data.ts";
import {
  type DeviceStreamFrame,
  MAX_STREAM_CREDIT,
  MAX_STREAMS_PER_CONNECTION,
} from "../../../protocol/link/streams.ts";
import type { DeviceStream, StreamRequest, StreamSink } from "../session.ts";

/** With more than this waiting for a device, credit and sizes of terminals wait, and are sent as one. */
const MAX_BUFFERED_BYTES = 16 * 1024;

/** A device gives up what its app or its engine does not open by itself, long before. */
const OPEN_TIMEOUT_MS = 60_000;

/** A frame about a stream is no longer than this. */
const MAX_READ_BYTES = 64 * 1024;

interface OpenStream {
  readonly sink: StreamSink;
  /** Runs until the stream is open. */
  readonly opening: Disposable;
  isOpened: boolean;
  hasDeviceEnded: boolean;
  hasClientEnded: boolean;
  /** Bytes that the device may still send, and the client. */
  fromDevice: number;
  fromClient: number;
  /** What the device is told as soon as nothing waits for it: a client must not be able to fill its connection. */
  owedCredit: number;
  owedSize: { readonly columns: number; readonly rows: number } | undefined;
}

/** The connection of a device as its streams use it. */
export interface StreamConnection extends DataSink {
  sendFrame(frame: ControlFrame): void;
}

/** The streams of a device's session. Nothing a device sends is trusted. */
export class SessionStreams {
  readonly #connection: StreamConnection;
  readonly #clock: Pick<Clock, "monotonic" | "timer">;
  readonly #sender: StreamSender;
  readonly #arrivals: ArrivalCounter;
  readonly #open = new Map<number, OpenStream>();
  /** Streams that were closed here, until the device confirms it, with the bytes it may have sent before. */
  readonly #closing = new Map<number, number>();
  #nextId = 1;

  constructor(connection: StreamConnection, clock: Pick<Clock, "monotonic" | "timer">) {
    this.#connection = connection;
    this.#clock = clock;
    this.#sender = new StreamSender(connection, clock);
    this.#arrivals = new ArrivalCounter(connection);
  }

  /** Whether the device has a stream that a client has opened, or data of one on its way. */
  get isInUse(): boolean {
    return this.#open.size + this.#closing.size > 0;
  }

  open({ kind, app, params, credit, by }: StreamRequest, sink: StreamSink): DeviceStream {
    if (this.#open.size + this.#closing.size >= MAX_STREAMS_PER_CONNECTION) {
      throw new EdgeError("TooManyRequests", "Too many open streams to this device.", {
        limit: MAX_STREAMS_PER_CONNECTION,
      });
    }
    const id = this.#nextId++;
    const opening = this.#clock.timer(OPEN_TIMEOUT_MS, () => {
      this.#fail(id, stream, "The device has not opened the stream in time.");
    });
    const stream: OpenStream = {
      sink,
      opening,
      isOpened: false,
      hasDeviceEnded: false,
      hasClientEnded: false,
      fromDevice: Math.min(credit, MAX_STREAM_CREDIT),
      fromClient: 0,
      owedCredit: 0,
      owedSize: undefined,
    };
    this.#open.set(id, stream);
    this.#connection.sendFrame({
      type: "stream_open",
      stream_id: id,
      kind,
      app,
      params,
      credit: stream.fromDevice,
      by,
    });
    return {
      send: (channel, bytes) => this.#sendToDevice(id, stream, channel, bytes),
      credit: (bytes) => this.#creditDevice(id, stream, bytes),
      resize: (columns, rows) => {
        stream.owedSize = { columns, rows };
        this.#payOwed(id);
      },
      [Symbol.dispose]: () => {
        if (this.#open.get(id) === stream) this.#close(id);
      },
    };
  }

  /** Handles a frame of the device. Returns why it is bad, if it is. */
  onFrame(frame: DeviceStreamFrame): string | undefined {
    const id = frame.stream_id;
    if (frame.type === "stream_close") return this.#onClose(id, frame);
    if (this.#closing.has(id)) return undefined;
    const stream = this.#open.get(id);
    if (!stream || stream.isOpened === (frame.type === "stream_opened")) return `${frame.type} out of order`;
    if (frame.type === "stream_opened") {
      const { credit, is_directory } = frame;
      stream.opening[Symbol.dispose]();
      stream.isOpened = true;
      stream.fromClient = credit;
      this.#sender.add(id, credit);
      stream.sink.opened({ credit, ...(is_directory !== undefined && { is_directory }) });
      return undefined;
    }
    if (stream.fromClient + frame.bytes > MAX_STREAM_CREDIT) return "too much credit";
    stream.fromClient += frame.bytes;
    this.#sender.grant(id, frame.bytes, Infinity);
    stream.sink.credit(frame.bytes);
    return undefined;
  }

  /** Ends the stream that a bad frame is about: its client would wait for ever for what was in it. */
  onBadFrame(message: Buffer): void {
    if (message.length > MAX_READ_BYTES) return;
    const frame = parseJson(message, "stream_frame");
    if (typeof frame !== "object" || frame === null || !("stream_id" in frame)) return;
    const id = Number(frame.stream_id);
    const stream = this.#open.get(id);
    if (!stream) return;
    this.#fail(id, stream, "What the device has sent about the stream is not valid.");
    // It takes the stream for closed, and confirms nothing.
    if ("type" in frame && frame.type === "stream_close") this.#closing.delete(id);
  }

  /** Handles a binary message of the device. Returns why it is bad, if it is. */
  onData(message: Uint8Array): string | undefined {
    const decoded = decodeStreamMessage(message);
    if (!decoded) return "binary";
    if (decoded.kind === "arrived") return this.#sender.arrived(decoded.total) ? undefined : "arrival of unsent data";
    const { streamId, channel, bytes } = decoded;
    const mayFollow = this.#closing.get(streamId);
    if (mayFollow !== undefined) {
      if (bytes.length > mayFollow) return "data without credit";
      this.#closing.set(streamId, mayFollow - bytes.length);
      this.#arrivals.add(decoded);
      return undefined;
    }
    const stream = this.#open.get(streamId);
    if (!stream?.isOpened || stream.hasDeviceEnded) return "data of a stream that is not open";
    if (bytes.length > stream.fromDevice) {
      this.#fail(streamId, stream, "The device has sent more data than the client can take.");
      return "data without credit";
    }
    stream.fromDevice -= bytes.length;
    stream.hasDeviceEnded = channel === STREAM_CHANNELS.end;
    this.#arrivals.add(decoded);
    stream.sink.data(channel, bytes);
    return undefined;
  }

  /** The system has taken a message of the session. */
  flush(): void {
    this.#arrivals.flush();
    for (const id of this.#open.keys()) this.#payOwed(id);
    this.#sender.flush();
  }

  /** Ends all streams: the connection is closed. */
  end(): void {
    const streams = [...this.#open.values()];
    this.#open.clear();
    this.#closing.clear();
    this.#sender[Symbol.dispose]();
    const { code, message } = new EdgeError("DeviceNotReachable");
    for (const { sink, opening } of streams) {
      opening[Symbol.dispose]();
      sink.end({ code, message });
    }
  }

  #sendToDevice(id: number, stream: OpenStream, channel: StreamChannelId, bytes: Uint8Array): boolean {
    // The stream has ended while the data was on its way.
    if (this.#open.get(id) !== stream) return true;
    if (!stream.isOpened || stream.hasClientEnded || bytes.length > stream.fromClient) return false;
    stream.fromClient -= bytes.length;
    stream.hasClientEnded = channel === STREAM_CHANNELS.end;
    this.#sender.enqueue(id, channel, bytes);
    return true;
  }

  #creditDevice(id: number, stream: OpenStream, bytes: number): boolean {
    if (this.#open.get(id) !== stream) return true;
    if (stream.fromDevice + bytes > MAX_STREAM_CREDIT) return false;
    stream.fromDevice += bytes;
    stream.owedCredit += bytes;
    this.#payOwed(id);
    return true;
  }

  #payOwed(id: number): void {
    const stream = this.#open.get(id);
    if (!stream || this.#connection.bufferedAmount > MAX_BUFFERED_BYTES) return;
    const { owedCredit: bytes, owedSize } = stream;
    stream.owedCredit = 0;
    stream.owedSize = undefined;
    if (bytes > 0) this.#connection.sendFrame({ type: "stream_credit", stream_id: id, bytes });
    if (owedSize) this.#connection.sendFrame({ type: "stream_resize", stream_id: id, ...owedSize });
  }

  #onClose(id: number, frame: Extract<DeviceStreamFrame, { type: "stream_close" }>): string | undefined {
    const stream = this.#open.get(id);
    stream?.opening[Symbol.dispose]();
    const isKnown = this.#open.delete(id) || this.#closing.delete(id);
    this.#sender.remove(id);
    const { code, message, exit_code } = frame;
    stream?.sink.end({
      code,
      ...(message !== undefined && { message }),
      ...(exit_code !== undefined && { exit_code }),
    });
    return isKnown ? undefined : "stream_close out of order";
  }

  /** Ends a stream because of what the device does. */
  #fail(id: number, stream: OpenStream, reason: string): void {
    this.#close(id);
    const { code, message } = new EdgeError("DeviceFailed", reason);
    stream.sink.end({ code, message });
  }

  #close(id: number): void {
    const stream = this.#open.get(id);
    stream?.opening[Symbol.dispose]();
    this.#closing.set(id, stream?.fromDevice ?? 0);
    this.#open.delete(id);
    this.#sender.remove(id);
    this.#connection.sendFrame({ type: "stream_close", stream_id: id });
  }
}
