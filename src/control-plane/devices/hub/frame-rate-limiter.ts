import type { Clock } from "../../../lib/clock.ts";
import { KeyedRateLimiters } from "../../../lib/keyed-rate-limiters.ts";
import type { SignalSource } from "../../../lib/rate-limiter.ts";
import type { AgentFrame } from "../../../protocol/link/frames.ts";
import { ProcessorShares } from "../../../lib/processor-shares.ts";

/** Limits of the bytes of one device: burst, and rate per second. */
export const MAX_BURST_BYTES = 4 * 1024 * 1024;
export const MAX_BYTES_PER_SECOND = 4 * 1024 * 1024;
/** How many times the data of a stream that a client has opened a byte of other messages counts: it has a reason to be fast. */
export const FRAME_FACTOR = 8;
/** Minimum number of bytes charged for a message or a ping. */
export const MIN_CHARGED_BYTES = 256;

/** Limits of the processor time that reading the frames of one device takes, in milliseconds: burst, and rate per second. */
export const MAX_BURST_MS = 50;
export const MAX_MS_PER_SECOND = 5;

/** Limits of the frames of one device about deployments: burst, and rate per second. Each costs a durable write. */
export const MAX_BURST_EVENTS = 500;
export const MAX_EVENTS_PER_SECOND = 50;
/** A frame is charged one more for each of these many bytes. */
export const BYTES_PER_EXTRA_EVENT = 8 * 1024;

/** Limits of the reports of one device: burst, and rate per second. Each costs a write. */
export const MAX_BURST_REPORTS = 30;
export const MAX_REPORTS_PER_SECOND = 2;
/** A report is charged one more for each of these many bytes. */
export const BYTES_PER_EXTRA_REPORT = 64 * 1024;

/**
 * Limits how fast the frames of each device are handled. Above the limits, its connections are not read. When the signal
 * aborts, waiting calls resolve at once.
 */
export class FrameRateLimiter {
  readonly #clock: Clock;
  readonly #bytes: KeyedRateLimiters;
  readonly #shares: ProcessorShares;
  readonly #events: KeyedRateLimiters;
  readonly #reports: KeyedRateLimiters;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#bytes = new KeyedRateLimiters(clock, MAX_BURST_BYTES, MAX_BYTES_PER_SECOND);
    this.#shares = new ProcessorShares(clock, MAX_BURST_MS, MAX_MS_PER_SECOND);
    this.#events = new KeyedRateLimiters(clock, MAX_BURST_EVENTS, MAX_EVENTS_PER_SECOND);
    this.#reports = new KeyedRateLimiters(clock, MAX_BURST_REPORTS, MAX_REPORTS_PER_SECOND);
  }

  /**
   * Charges for a message that has arrived, whether it will be read or not.
   *
   * @param isData whether it is data of a stream
   */
  chargeBytes(assetUuid: string, bytes: number, isData: boolean): void {
    this.#bytes.of(assetUuid).charge(Math.max(isData ? bytes : FRAME_FACTOR * bytes, MIN_CHARGED_BYTES));
  }

  /** Time until the device may send more and its next frame may be read, in milliseconds; 0 if it may. */
  waitMs(assetUuid: string): number {
    return Math.max(this.#bytes.waitMs(assetUuid), this.#shares.waitMs(assetUuid));
  }

  /** Resolves when the device's next frame may be read. */
  async untilWithin(assetUuid: string, source: SignalSource): Promise<void> {
    for (let waitMs = this.waitMs(assetUuid); waitMs > 0; waitMs = this.waitMs(assetUuid)) {
      const signal = typeof source === "function" ? source() : source;
      try {
        await this.#clock.sleep(waitMs, signal);
      } catch (error) {
        if (!signal.aborted) throw error;
        return;
      }
    }
  }

  /** Reads a frame of this size, and charges the time that takes: the device's next one waits until it is within its share. */
  read<T>(assetUuid: string, bytes: number, work: () => T): T {
    return this.#shares.run(assetUuid, bytes, work);
  }

  /** Resolves when the frame may be handled. */
  async acquireForFrame(assetUuid: string, frame: AgentFrame, bytes: number, signal: SignalSource): Promise<void> {
    switch (frame.type) {
      case "hello":
        return this.#events.of(assetUuid).acquire(1 + frame.deployments.length, signal);
      case "ack":
      case "refuse":
      case "event":
        return this.#events.of(assetUuid).acquire(1 + Math.floor(bytes / BYTES_PER_EXTRA_EVENT), signal);
      case "report":
      case "report_held":
        return this.#reports.of(assetUuid).acquire(1 + Math.floor(bytes / BYTES_PER_EXTRA_REPORT), signal);
      case "answer":
      case "query_end":
      // Bounded by the credit of clients, and by their number of bytes.
      case "stream_opened":
      case "stream_credit":
      case "stream_close":
    }
  }

  /** Resolves when a message with rows of health may be handled: it counts as a report. */
  async acquireForHealth(assetUuid: string, signal: SignalSource): Promise<void> {
    await this.#reports.of(assetUuid).acquire(1, signal);
  }

  /** Charges for the deployments that were reconciled: the device's next frames about deployments wait for them. */
  chargeDeployments(assetUuid: string, deployments: number): void {
    this.#events.of(assetUuid).charge(deployments);
  }
}
