import type { ReceiveCredit } from "../../lib/stream-receiver.ts";
import type { StreamSender } from "../../lib/stream-sender.ts";
import { STREAM_CHANNELS, type StreamChannelId } from "../../protocol/link/stream-data.ts";
import type { ClientStreamFrame, StreamEnd } from "../../protocol/link/streams.ts";

export interface StreamData {
  readonly channel: StreamChannelId;
  readonly bytes: Uint8Array;
}

export interface ClientStreamOptions {
  readonly id: number;
  readonly credit: ReceiveCredit;
  readonly sender: StreamSender;
  readonly send: (frame: ClientStreamFrame) => void;
  readonly onSent: (bytes: number) => void;
  readonly onClosed: () => void;
}

/** A stream to an app, until either side closes it. */
export class ClientStream implements Disposable {
  /** Resolves when the app is connected. Rejects with the failure if that is refused. */
  readonly opened: Promise<{ readonly isDirectory: boolean }>;
  /** Resolves when the stream is over. */
  readonly ended: Promise<StreamEnd>;
  readonly #options: ClientStreamOptions;
  readonly #opening = Promise.withResolvers<{ readonly isDirectory: boolean }>();
  readonly #ending = Promise.withResolvers<StreamEnd>();
  readonly #arrived: StreamData[] = [];
  #isEnded = false;
  #wakeReader: (() => void) | undefined;

  constructor(options: ClientStreamOptions) {
    this.#options = options;
    this.opened = this.#opening.promise;
    this.ended = this.#ending.promise;
    // It is not awaited where the stream is closed before.
    this.opened.catch(() => undefined);
  }

  /** Resolves with true once the bytes are handed to the system, or with false if the stream is over. */
  async write(bytes: Uint8Array): Promise<boolean> {
    const isSent = await this.#options.sender.write(this.#options.id, STREAM_CHANNELS.data, bytes);
    if (isSent) this.#options.onSent(bytes.length);
    return isSent;
  }

  /** Ends the data to the app. */
  async end(): Promise<void> {
    await this.#options.sender.write(this.#options.id, STREAM_CHANNELS.end, new Uint8Array());
  }

  /** Yields the app's data until there is no more, or the stream is over. */
  async *read(): AsyncGenerator<StreamData, void> {
    for (;;) {
      const data = this.#arrived.shift();
      if (data?.channel === STREAM_CHANNELS.end) return;
      if (data) {
        yield data;
        this.#giveCredit(data.bytes.length);
      } else if (this.#isEnded) return;
      else await new Promise<void>((resolve) => (this.#wakeReader = resolve));
    }
  }

  resize(columns: number, rows: number): void {
    if (!this.#isEnded) this.#options.send({ type: "stream_resize", stream_id: this.#options.id, columns, rows });
  }

  /** Called by the connection. */
  onOpened(credit: number, isDirectory: boolean): void {
    this.#options.sender.add(this.#options.id, credit);
    this.#opening.resolve({ isDirectory });
  }

  /** Called by the connection. Returns false if there was no credit for the data. */
  onData(channel: StreamChannelId, bytes: Uint8Array): boolean {
    if (!this.#options.credit.receive(bytes.length)) return false;
    this.#arrived.push({ channel, bytes });
    this.#wakeReader?.();
    return true;
  }

  /** Called by the connection. What has arrived can still be read. @param failure of a stream that was never opened */
  onEnd(end: StreamEnd, failure: () => unknown): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#options.sender.remove(this.#options.id);
    this.#options.credit[Symbol.dispose]();
    this.#opening.reject(failure());
    this.#ending.resolve(end);
    this.#wakeReader?.();
  }

  /** Closes the stream, unless it is over. */
  [Symbol.dispose](): void {
    if (this.#isEnded) return;
    this.#options.send({ type: "stream_close", stream_id: this.#options.id });
    this.#options.onClosed();
    this.onEnd({ code: undefined }, () => new Error("the stream was closed"));
  }

  #giveCredit(bytes: number): void {
    if (this.#isEnded) return;
    const grant = this.#options.credit.take(bytes);
    if (grant > 0) this.#options.send({ type: "stream_credit", stream_id: this.#options.id, bytes: grant });
  }
}
