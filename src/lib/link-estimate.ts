import { MAX_STREAM_CHUNK_BYTES } from "../protocol/link/stream-data.ts";
import type { Clock } from "./clock.ts";

/** Bounds of the data bytes on the way. */
const MIN_WINDOW_BYTES = 16 * 1024;
const MAX_WINDOW_BYTES = 256 * 1024;
/** The window while something more important is under way on the link. */
const YIELDING_WINDOW_BYTES = 2 * 1024;
/**
 * Confirmations asked for in a window: no fewer than messages, or the rest of the window would stand idle meanwhile. Of
 * small messages, such as keys on a terminal, only some are confirmed.
 */
const CONFIRMATIONS_PER_WINDOW = 16;
/** More than the link was seen to carry, so that an increase of its rate is noticed. */
const WINDOW_GAIN = 1.25;
/** How long the highest rate counts: shorter and a pause of the sender would close the window. */
const RATE_MEMORY_MS = 10_000;

const MIN_CHUNK_BYTES = 4 * 1024;
const YIELDING_CHUNK_BYTES = 1024;
/** Messages in a window. Small messages on a slow link: each occupies it for a while. */
const CHUNKS_PER_WINDOW = 8;

/**
 * Most bytes for which no confirmation was asked. What is not confirmed occupies the window: one message must still fit when
 * the window becomes the smallest one, or nothing would be sent, and so nothing confirmed, ever again.
 */
const MAX_UNASKED_BYTES = YIELDING_WINDOW_BYTES - YIELDING_CHUNK_BYTES;

const UINT32 = 2 ** 32;

interface Sent {
  /** Sum of bytes sent, with this message. */
  readonly total: number;
  readonly at: number;
  /** Sum of bytes that had arrived when it was sent, and when the last of them did. */
  readonly arrived: number;
  readonly arrivedAt: number;
}

/**
 * Estimates from the receiver's confirmations how many bytes may be on the way on a connection: what it carries in the
 * shortest round trip seen. With more, the rest would wait in queues on the way.
 */
export class LinkEstimate {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #mustYield: () => boolean;
  readonly #inFlight: Sent[] = [];
  /** Bytes sent since a confirmation was asked for. */
  #unasked = 0;
  #sent = 0;
  #arrived = 0;
  #arrivedAt: number;
  #minRoundTripMs: number | undefined;
  /** Highest rate in bytes per millisecond, of this period and of the one before. */
  #rates = { current: 0, previous: 0, since: 0 };

  /** @param mustYield whether to send little now */
  constructor(clock: Pick<Clock, "monotonic">, mustYield: () => boolean) {
    this.#clock = clock;
    this.#mustYield = mustYield;
    this.#arrivedAt = clock.monotonic();
  }

  /** Bytes that may be sent now. */
  get room(): number {
    return Math.max(0, this.#window - (this.#sent - this.#arrived));
  }

  /** Size of a message at present. */
  get chunkBytes(): number {
    if (this.#mustYield()) return YIELDING_CHUNK_BYTES;
    return Math.min(MAX_STREAM_CHUNK_BYTES, Math.max(MIN_CHUNK_BYTES, Math.floor(this.#window / CHUNKS_PER_WINDOW)));
  }

  /** Counts bytes that are sent now. Returns whether to ask for a confirmation with them. */
  sent(bytes: number): boolean {
    const at = this.#clock.monotonic();
    // Nothing was on the way: the time before says nothing about the link.
    if (this.#sent === this.#arrived) this.#arrivedAt = at;
    this.#sent += bytes;
    this.#unasked += bytes;
    // Also with the last message that fits: nothing is sent after it before a confirmation.
    const window = this.#window;
    const due = Math.min(window / CONFIRMATIONS_PER_WINDOW, MAX_UNASKED_BYTES);
    const isDue = this.#unasked >= due || this.room < this.chunkBytes;
    if (!isDue) return false;
    this.#unasked = 0;
    this.#inFlight.push({ total: this.#sent, at, arrived: this.#arrived, arrivedAt: this.#arrivedAt });
    return true;
  }

  /** @param total sum of all bytes that have arrived, modulo 2^32. @returns false if they were not sent */
  arrived(total: number): boolean {
    const bytes = (total - (this.#arrived % UINT32) + UINT32) % UINT32;
    if (bytes > this.#sent - this.#arrived) return false;
    if (bytes === 0) return true;
    const now = this.#clock.monotonic();
    this.#arrived += bytes;
    this.#arrivedAt = now;
    let last: Sent | undefined;
    for (let next = this.#inFlight[0]; next && next.total <= this.#arrived; next = this.#inFlight[0]) {
      last = next;
      this.#inFlight.shift();
    }
    if (!last) return true;
    this.#minRoundTripMs = Math.min(this.#minRoundTripMs ?? Infinity, now - last.at);
    // The interval in which these bytes arrived, which does not shrink when confirmations come in a bunch.
    const intervalMs = Math.max(now - last.arrivedAt, 1);
    this.#countRate((this.#arrived - last.arrived) / intervalMs, now);
    return true;
  }

  get #window(): number {
    if (this.#mustYield()) return YIELDING_WINDOW_BYTES;
    if (this.#minRoundTripMs === undefined) return MIN_WINDOW_BYTES;
    const rate = Math.max(this.#rates.current, this.#rates.previous);
    const carried = WINDOW_GAIN * rate * Math.max(this.#minRoundTripMs, 1);
    return Math.min(MAX_WINDOW_BYTES, Math.max(MIN_WINDOW_BYTES, Math.ceil(carried)));
  }

  #countRate(rate: number, now: number): void {
    const { current, since } = this.#rates;
    if (now - since < RATE_MEMORY_MS) this.#rates.current = Math.max(current, rate);
    else this.#rates = { current: rate, previous: current, since: now };
  }
}
