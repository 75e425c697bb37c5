import type { Clock } from "../../lib/clock.ts";
import type { AgentFrame } from "../../protocol/frames.ts";
import { DeviceRateLimiters } from "./device-rate-limiters.ts";

/** Bytes a device may send at once, and a second after that. */
export const MAX_BURST_BYTES = 16 * 1024 * 1024;
export const MAX_BYTES_PER_SECOND = 4 * 1024 * 1024;
/** What a frame or a ping counts as at the least. */
export const MIN_CHARGED_BYTES = 256;

/** Frames about deployments a device may send at once, and a second after that. Each costs a durable write. */
export const MAX_BURST_EVENTS = 500;
export const MAX_EVENTS_PER_SECOND = 50;
/** A frame counts once more for each of so many bytes. */
export const BYTES_PER_EXTRA_EVENT = 8 * 1024;

/** Reports a device may send at once, and a second after that. Each costs a write. */
export const MAX_BURST_REPORTS = 30;
export const MAX_REPORTS_PER_SECOND = 2;

/**
 * How fast devices are listened to. One that sends more is held back: its connection is not read meanwhile. Where the
 * signal aborts, nobody waits any longer, and what was waiting does not count.
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

  /** Resolves when a frame of this size may be read, whatever it says. */
  acquireForBytes(assetUuid: string, bytes: number, signal: AbortSignal): Promise<void> {
    return this.#bytes.forDevice(assetUuid).acquire(Math.max(bytes, MIN_CHARGED_BYTES), signal);
  }

  /** Resolves when what the frame says may be dealt with. */
  async acquireForFrame(assetUuid: string, frame: AgentFrame, bytes: number, signal: AbortSignal): Promise<void> {
    switch (frame.type) {
      case "hello":
        return this.#events.forDevice(assetUuid).acquire(1 + frame.deployments.length, signal);
      case "ack":
      case "refuse":
      case "event":
        return this.#events.forDevice(assetUuid).acquire(1 + Math.floor(bytes / BYTES_PER_EXTRA_EVENT), signal);
      case "report":
        return this.#reports.forDevice(assetUuid).acquire(1, signal);
      case "answer":
      case "query_end":
    }
  }

  /** The device has had this many of its deployments gone through: what it says of deployments next waits for them. */
  chargeDeployments(assetUuid: string, deployments: number): void {
    this.#events.forDevice(assetUuid).charge(deployments);
  }
}
