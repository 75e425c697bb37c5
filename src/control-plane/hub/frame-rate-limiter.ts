import type { Clock } from "../../lib/clock.ts";
import type { SignalSource } from "../../lib/rate-limiter.ts";
import type { AgentFrame } from "../../protocol/frames.ts";
import { DeviceRateLimiters } from "./device-rate-limiters.ts";

/** Limits of the bytes of one device: burst, and rate per second. */
export const MAX_BURST_BYTES = 16 * 1024 * 1024;
export const MAX_BYTES_PER_SECOND = 4 * 1024 * 1024;
/** Minimum number of bytes charged for a message or a ping. */
export const MIN_CHARGED_BYTES = 256;

/** Limits of the frames of one device about deployments: burst, and rate per second. Each costs a durable write. */
export const MAX_BURST_EVENTS = 500;
export const MAX_EVENTS_PER_SECOND = 50;
/** A frame is charged one more for each of these many bytes. */
export const BYTES_PER_EXTRA_EVENT = 8 * 1024;

/** Limits of the reports of one device: burst, and rate per second. Each costs a write. */
export const MAX_BURST_REPORTS = 30;
export const MAX_REPORTS_PER_SECOND = 2;

/**
 * Limits how fast the frames of each device are handled. Above the limits, its connection is not read. When the signal
 * aborts, waiting calls resolve at once and are not charged.
 */
export class FrameRateLimiter {
  readonly #bytes: DeviceRateLimiters;
  readonly #events: DeviceRateLimiters;
  readonly #reports: DeviceRateLimiters;

  constructor(clock: Clock) {
    this.#bytes = new DeviceRateLimiters(clock, MAX_BURST_BYTES, MAX_BYTES_PER_SECOND);
    this.#events = new DeviceRateLimiters(clock, MAX_BURST_EVENTS, MAX_EVENTS_PER_SECOND);
    this.#reports = new DeviceRateLimiters(clock, MAX_BURST_REPORTS, MAX_REPORTS_PER_SECOND);
  }

  /** Resolves when a message of this size may be parsed. */
  acquireForBytes(assetUuid: string, bytes: number, signal: SignalSource): Promise<void> {
    return this.#bytes.forDevice(assetUuid).acquire(Math.max(bytes, MIN_CHARGED_BYTES), signal);
  }

  /** Resolves when the frame may be handled. */
  async acquireForFrame(assetUuid: string, frame: AgentFrame, bytes: number, signal: SignalSource): Promise<void> {
    switch (frame.type) {
      case "hello":
        return this.#events.forDevice(assetUuid).acquire(1 + frame.deployments.length, signal);
      case "ack":
      case "refuse":
      case "event":
        return this.#events.forDevice(assetUuid).acquire(1 + Math.floor(bytes / BYTES_PER_EXTRA_EVENT), signal);
      case "report":
      case "report_held":
        return this.#reports.forDevice(assetUuid).acquire(1, signal);
      case "answer":
      case "query_end":
      // Bounded by the credit of clients, and by their number of bytes.
      case "stream_opened":
      case "stream_credit":
      case "stream_close":
    }
  }

  /** Charges for the deployments that were reconciled: the device's next frames about deployments wait for them. */
  chargeDeployments(assetUuid: string, deployments: number): void {
    this.#events.forDevice(assetUuid).charge(deployments);
  }
}
