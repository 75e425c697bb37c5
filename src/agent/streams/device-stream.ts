import { Block } from "../../lib/block.ts";
import type { ReceiveCredit } from "../../lib/stream-receiver.ts";
import type { StreamSender } from "../../lib/stream-sender.ts";
import { STREAM_CHANNELS, type StreamChannelId } from "../../protocol/link/stream-data.ts";
import type { StreamKind, StreamParams } from "../../protocol/link/streams.ts";
import type { StreamConnection } from "../link/ports.ts";
import type { AppStream, StreamServices } from "./app-stream.ts";

/** Bytes of a data message and its frame beside the data. */
const MESSAGE_OVERHEAD_BYTES = 10;

/** What a client may send at a time while something more important is under way on the link. */
const YIELDING_CREDIT = 4 * 1024;

export interface DeviceStreamOptions {
  readonly id: number;
  readonly kind: StreamKind;
  readonly app: string;
  readonly params: StreamParams<StreamKind>;
  readonly credit: ReceiveCredit;
  readonly connection: StreamConnection;
  readonly sender: StreamSender;
  readonly services: StreamServices;
}

/** One stream: its data in both directions, until it is closed. */
export class DeviceStream implements AppStream, Disposable {
  readonly id: number;
  readonly kind: StreamKind;
  readonly app: string;
  readonly params: StreamParams<StreamKind>;
  /** Bytes of data so far. */
  readonly bytes = { sent: 0, received: 0 };
  /** When data was sent or received last, in monotonic milliseconds. */
  activeAt: number;
  readonly #options: DeviceStreamOptions;
  readonly #closed = new AbortController();
  readonly #arrived: Block[] = [];
  #hasInputEnded = false;
  #isOpen = false;
  #wakeReader: (() => void) | undefined;
  #onResize: ((columns: number, rows: number) => void) | undefined;
  /** The last size before there was a listener: the command may not have been started yet. */
  #size: { readonly columns: number; readonly rows: number } | undefined;

  constructor(options: DeviceStreamOptions) {
    this.#options = options;
    this.id = options.id;
    this.kind = options.kind;
    this.app = options.app;
    this.params = options.params;
    this.activeAt = options.services.clock.monotonic();
  }

  get signal(): AbortSignal {
    return this.#closed.signal;
  }

  opened(facts?: { readonly is_directory: boolean }): void {
    this.signal.throwIfAborted();
    const { connection, credit, id } = this.#options;
    this.#isOpen = true;
    connection.sendFrame({ type: "stream_opened", stream_id: id, credit: credit.first, ...facts });
  }

  async write(channel: StreamChannelId, bytes: Uint8Array): Promise<void> {
    this.signal.throwIfAborted();
    const { sender, services, id } = this.#options;
    const isSent = await sender.write(id, channel, bytes);
    this.signal.throwIfAborted();
    if (!isSent) throw new Error("the stream is closed");
    this.#count("sent", bytes.length);
    await this.#pauseAfter(bytes.length, services);
  }

  async *input(): AsyncGenerator<Uint8Array, void> {
    for (;;) {
      this.signal.throwIfAborted();
      const bytes = this.#arrived.shift()?.take();
      if (bytes) {
        yield bytes;
        await this.#pauseAfter(bytes.length, this.#options.services);
        this.#giveCredit(bytes.length);
      } else if (this.#hasInputEnded) return;
      else await new Promise<void>((resolve) => (this.#wakeReader = resolve));
    }
  }

  onResize(listener: (columns: number, rows: number) => void): void {
    this.#onResize = listener;
    if (this.#size) listener(this.#size.columns, this.#size.rows);
  }

  resize(columns: number, rows: number): void {
    if (this.#onResize) this.#onResize(columns, rows);
    else this.#size = { columns, rows };
  }

  /** Takes data of the client. Returns false if it had no credit, or had ended its data. */
  receive(channel: StreamChannelId, bytes: Uint8Array): boolean {
    if (!this.#isOpen || this.#hasInputEnded || !this.#options.credit.receive(bytes.length)) return false;
    if (channel === STREAM_CHANNELS.end) this.#hasInputEnded = true;
    else if (!this.#arrived.at(-1)?.append(bytes)) this.#arrived.push(Block.copyOf(bytes));
    this.#count("received", bytes.length);
    this.#wakeReader?.();
    return true;
  }

  /** Closes the stream; readers and writers reject with the reason. */
  close(reason: unknown): void {
    this.#closed.abort(reason);
    this.#arrived.length = 0;
    this.#options.sender.remove(this.id);
    this.#wakeReader?.();
  }

  [Symbol.dispose](): void {
    this.close(new DOMException("the stream is over", "AbortError"));
    this.#options.credit[Symbol.dispose]();
  }

  #giveCredit(bytes: number): void {
    const { credit, services } = this.#options;
    const grant = credit.take(bytes, services.link.mustYield() ? YIELDING_CREDIT : undefined);
    if (grant === 0 || this.signal.aborted) return;
    this.#options.connection.sendFrame({ type: "stream_credit", stream_id: this.id, bytes: grant });
  }

  async #pauseAfter(bytes: number, { clock, link }: StreamServices): Promise<void> {
    const pauseMs = link.pauseAfter(bytes);
    if (pauseMs > 0) await clock.sleep(pauseMs, this.signal);
  }

  #count(direction: "sent" | "received", bytes: number): void {
    const { clock, link } = this.#options.services;
    this.bytes[direction] += bytes;
    this.activeAt = clock.monotonic();
    link.traffic(direction, bytes + MESSAGE_OVERHEAD_BYTES, this.app);
  }
}
