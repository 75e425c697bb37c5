import { encodeArrival } from "../protocol/link/stream-data.ts";
import { MAX_STREAM_CREDIT } from "../protocol/link/streams.ts";
import type { StreamSink } from "./stream-sender.ts";

/** Credit of a new stream, and the smallest one. */
const FIRST_CREDIT = 64 * 1024;
const MIN_CREDIT = 16 * 1024;
/** Credit is given in parts of the window: each costs a frame. */
const GRANTS_PER_WINDOW = 4;

/** With more than this waiting for the system, a confirmation waits, and later ones with it. */
const MAX_BUFFERED_BYTES = 64 * 1024;

/**
 * Confirms to the sender what has arrived on a connection when it asks, whether or not its reader has taken it. A sender
 * that asks without reading the answers gets one for all.
 */
export class ArrivalCounter {
  readonly #sink: StreamSink;
  #total = 0;
  #isDue = false;

  /** @param sink call `flush` when the system has taken a message of it */
  constructor(sink: StreamSink) {
    this.#sink = sink;
  }

  add({ bytes, mustConfirm }: { readonly bytes: Uint8Array; readonly mustConfirm: boolean }): void {
    this.#total += bytes.length;
    if (!mustConfirm) return;
    this.#isDue = true;
    this.flush();
  }

  flush(): void {
    if (!this.#isDue || this.#sink.bufferedAmount > MAX_BUFFERED_BYTES) return;
    this.#isDue = false;
    this.#sink.send(encodeArrival(this.#total));
  }
}

/** Memory for data that readers have not taken, shared by the streams of a connection. */
export class CreditPool {
  #free: number;
  readonly #first: number;

  /** @param maxStreams number of streams for which there must be room */
  constructor(totalBytes: number, maxStreams: number) {
    this.#free = totalBytes;
    this.#first = Math.max(MIN_CREDIT, Math.min(FIRST_CREDIT, Math.floor(totalBytes / maxStreams)));
  }

  /** Takes the credit of a new stream. Dispose of it with the stream. */
  open(): ReceiveCredit {
    this.#free -= this.#first;
    return new ReceiveCredit(this.#first, {
      take: (bytes) => {
        const isFree = this.#free >= bytes;
        if (isFree) this.#free -= bytes;
        return isFree;
      },
      giveBack: (bytes) => void (this.#free += bytes),
    });
  }
}

interface Lender {
  take(bytes: number): boolean;
  giveBack(bytes: number): void;
}

/** The credit of one stream's sender, given by its receiver. Grows while the reader keeps up. */
export class ReceiveCredit implements Disposable {
  readonly first: number;
  readonly #lender: Lender;
  #window: number;
  /** Bytes that the sender may still send. */
  #outstanding: number;
  /** Bytes taken by the reader and not granted again. */
  #taken = 0;
  #takenInWindow = 0;
  #isDisposed = false;

  constructor(first: number, lender: Lender) {
    this.first = first;
    this.#window = first;
    this.#outstanding = first;
    this.#lender = lender;
  }

  /** Counts data that has arrived. Returns false if the sender had no credit for it. */
  receive(bytes: number): boolean {
    if (bytes > this.#outstanding) return false;
    this.#outstanding -= bytes;
    return true;
  }

  /**
   * Counts data that the reader has taken. Returns the credit to give now, 0 for none.
   *
   * @param limit bytes that the sender may have left, for a time in which it should send little
   */
  take(bytes: number, limit: number = Infinity): number {
    this.#taken += bytes;
    this.#takenInWindow += bytes;
    if (limit < this.#window) return this.#giveUpTo(limit);
    if (this.#taken < this.#window / GRANTS_PER_WINDOW) return 0;
    const grant = this.#taken + this.#grow();
    this.#taken = 0;
    this.#outstanding += grant;
    return grant;
  }

  #giveUpTo(limit: number): number {
    const grant = Math.min(this.#taken, limit - this.#outstanding);
    // Half of it at once: each grant costs a frame.
    if (grant < limit / 2 && (grant <= 0 || this.#outstanding > 0)) return 0;
    this.#taken -= grant;
    this.#outstanding += grant;
    return grant;
  }

  [Symbol.dispose](): void {
    if (!this.#isDisposed) this.#lender.giveBack(this.#window);
    this.#isDisposed = true;
  }

  /** Doubles the window each time the reader has taken as much as it holds. */
  #grow(): number {
    const more = Math.min(this.#window, MAX_STREAM_CREDIT - this.#window);
    if (this.#takenInWindow < this.#window || more <= 0 || !this.#lender.take(more)) return 0;
    this.#takenInWindow = 0;
    this.#window += more;
    return more;
  }
}
