import type { StreamChannelId } from "../../../protocol/link/stream-data.ts";
import { MAX_STREAM_CREDIT } from "../../../protocol/link/streams.ts";
import type { DeviceStream, StreamSink } from "../session.ts";
import type { ChannelReader, OpenChannel } from "./channels.ts";
import { isStreamChannel } from "./holder.ts";
import { decodeStreamBody, decodeStreamEnd, encodeStreamBytes, encodeStreamControl, holderLost } from "./wire.ts";

/**
 * A stream to a device whose session another instance has. The credit of its client and of the device, 256 KiB in each
 * direction, also bounds what is under way between the instances.
 */
export class RemoteStream implements DeviceStream, ChannelReader {
  readonly #sink: StreamSink;
  #channel: OpenChannel | undefined;
  #isOpened = false;
  #isOver = false;
  /** Bytes that the device may still send, and the client. */
  #fromDevice: number;
  #fromClient = 0;

  /** @param credit bytes that the client takes */
  constructor(credit: number, sink: StreamSink) {
    this.#fromDevice = Math.min(credit, MAX_STREAM_CREDIT);
    this.#sink = sink;
  }

  /** Whether the stream has ended, or was disposed of. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Begins to use the channel. */
  attach(channel: OpenChannel): void {
    this.#channel = channel;
  }

  fail(): void {
    this.onEnd(undefined);
  }

  send(channel: StreamChannelId, bytes: Uint8Array): boolean {
    if (this.#isOver) return true;
    if (!this.#isOpened || bytes.length > this.#fromClient) return false;
    this.#fromClient -= bytes.length;
    this.#channel?.send(encodeStreamBytes(channel, bytes));
    return true;
  }

  credit(bytes: number): boolean {
    if (this.#isOver) return true;
    if (this.#fromDevice + bytes > MAX_STREAM_CREDIT) return false;
    this.#fromDevice += bytes;
    this.#channel?.send(encodeStreamControl({ type: "credit", bytes }));
    return true;
  }

  resize(columns: number, rows: number): void {
    if (!this.#isOver) this.#channel?.send(encodeStreamControl({ type: "resize", columns, rows }));
  }

  onBody(body: Uint8Array): void {
    if (this.#isOver || this.#take(body)) return;
    this.#channel?.[Symbol.dispose]();
    this.fail();
  }

  onEnd(body: Uint8Array | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { code, message } = holderLost();
    this.#sink.end(body ? decodeStreamEnd(body) : { code, message });
  }

  [Symbol.dispose](): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#channel?.[Symbol.dispose]();
  }

  /** Returns false if the body is not valid. */
  #take(body: Uint8Array): boolean {
    const decoded = decodeStreamBody(body);
    switch (decoded?.type) {
      case "opened": {
        const { credit, is_directory } = decoded;
        this.#isOpened = true;
        this.#fromClient = credit;
        this.#sink.opened({ credit, ...(is_directory !== undefined && { is_directory }) });
        return true;
      }
      case "credit":
        this.#fromClient += decoded.bytes;
        this.#sink.credit(decoded.bytes);
        return true;
      case "data":
        if (!isStreamChannel(decoded.channel) || decoded.data.length > this.#fromDevice) return false;
        this.#fromDevice -= decoded.data.length;
        this.#sink.data(decoded.channel, decoded.data);
        return true;
      case "resize":
      case undefined:
        return false;
    }
  }
}
