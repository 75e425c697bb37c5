import { encodeStreamData, STREAM_CHANNELS, type StreamChannelId } from "../protocol/link/stream-data.ts";
import { Block } from "./block.ts";
import type { Clock } from "./clock.ts";
import { LinkEstimate } from "./link-estimate.ts";

/** The part of a connection that the sender uses. */
export interface StreamSink {
  /** Bytes that the system has not taken yet. */
  readonly bufferedAmount: number;
  /** Call `StreamSender.flush` when the system has taken the message. */
  send(message: Uint8Array): void;
}

interface Waiting {
  readonly channel: StreamChannelId;
  readonly block: Block;
  readonly resolve: (isSent: boolean) => void;
}

interface Outgoing {
  credit: number;
  readonly waiting: Waiting[];
}

/**
 * Sends the data of all streams of one connection, so that everything else on it hardly waits:
 *
 * - No more data of a stream than its receiver has given credit for. A reader that stalls stops its stream only.
 * - No more data on the way than the connection carries in a round trip: what is queued in the system and the modem
 *   would delay events, commands and keep-alives behind it.
 * - Data only while nothing else waits for the system. Streams take turns.
 */
export class StreamSender implements Disposable {
  readonly #sink: StreamSink;
  readonly #estimate: LinkEstimate;
  readonly #streams = new Map<number, Outgoing>();
  #isSending = false;

  /** @param mustYield whether something more important is under way on the link, so that little is sent now */
  constructor(sink: StreamSink, clock: Pick<Clock, "monotonic">, mustYield: () => boolean = () => false) {
    this.#sink = sink;
    this.#estimate = new LinkEstimate(clock, mustYield);
  }

  /** Adds a stream. @param credit bytes that its receiver takes */
  add(streamId: number, credit: number): void {
    this.#streams.set(streamId, { credit, waiting: [] });
  }

  /** The receiver takes more bytes. @returns whether its credit stays within `limit` */
  grant(streamId: number, bytes: number, limit: number): boolean {
    const stream = this.#streams.get(streamId);
    if (!stream) return true;
    if (stream.credit + bytes > limit) return false;
    stream.credit += bytes;
    this.flush();
    return true;
  }

  /**
   * Queues data behind what the stream has queued already. Resolves with true once all of it was handed to the system,
   * or with false if the stream is removed before. Await it, so that the queue stays short.
   */
  write(streamId: number, channel: StreamChannelId, bytes: Uint8Array): Promise<boolean> {
    const stream = this.#streams.get(streamId);
    if (!stream) return Promise.resolve(false);
    if (bytes.length === 0 && channel !== STREAM_CHANNELS.end) return Promise.resolve(true);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    stream.waiting.push({ channel, block: Block.of(bytes), resolve });
    this.flush();
    return promise;
  }

  /** Queues a copy of data; its caller does not wait for the end. The caller limits how much is queued, by the receiver's credit. */
  enqueue(streamId: number, channel: StreamChannelId, bytes: Uint8Array): void {
    const stream = this.#streams.get(streamId);
    if (!stream) return;
    const last = stream.waiting.at(-1);
    const isJoined = bytes.length > 0 && last?.channel === channel && last.block.append(bytes);
    if (!isJoined) stream.waiting.push({ channel, block: Block.copyOf(bytes), resolve: noop });
    this.flush();
  }

  /** Drops the stream and what it has queued. */
  remove(streamId: number): void {
    const stream = this.#streams.get(streamId);
    this.#streams.delete(streamId);
    for (const { resolve } of stream?.waiting ?? []) resolve(false);
  }

  /** The peer has received this sum of data bytes, modulo 2^32. Returns false if that cannot be. */
  arrived(total: number): boolean {
    if (!this.#estimate.arrived(total)) return false;
    this.flush();
    return true;
  }

  /** Sends what may be sent now. Call it whenever the system has taken a message of this connection. */
  flush(): void {
    // `send` may call back at once.
    if (this.#isSending) return;
    this.#isSending = true;
    try {
      while (this.#sink.bufferedAmount === 0 && this.#sendNext());
    } finally {
      this.#isSending = false;
    }
  }

  [Symbol.dispose](): void {
    for (const streamId of this.#streams.keys()) this.remove(streamId);
  }

  /** Sends one message of the stream whose turn it is. Returns whether there was one. */
  #sendNext(): boolean {
    const room = this.#estimate.room;
    for (const [streamId, stream] of this.#streams) {
      const [next] = stream.waiting;
      if (!next) continue;
      const isEnd = next.channel === STREAM_CHANNELS.end;
      const size = Math.min(next.block.length, stream.credit, room, this.#estimate.chunkBytes);
      if (size <= 0 && !isEnd) continue;
      // A part that fills the rest of the window would be a small message; the window opens again soon.
      if (!isEnd && size === room && size < next.block.length && size < this.#estimate.chunkBytes) continue;
      // Moves the stream to the end of the map: its next turn is after all others.
      this.#streams.delete(streamId);
      this.#streams.set(streamId, stream);
      this.#send(streamId, stream, next, size);
      return true;
    }
    return false;
  }

  #send(streamId: number, stream: Outgoing, next: Waiting, size: number): void {
    const part = next.block.take(size);
    stream.credit -= size;
    const isDone = next.block.length === 0;
    if (isDone) stream.waiting.shift();
    const mustConfirm = size > 0 && this.#estimate.sent(size);
    this.#sink.send(encodeStreamData(streamId, next.channel, part, mustConfirm));
    if (isDone) next.resolve(true);
  }
}

function noop(): void {}
