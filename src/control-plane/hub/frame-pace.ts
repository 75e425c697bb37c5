import type { Clock } from "../../lib/clock.ts";
import type { AgentFrame } from "../../protocol/frames.ts";
import { Paces } from "../reports/paces.ts";

/** Bytes a device may send at once, and a second after that. */
export const FRAME_BYTES_AT_ONCE = 16 * 1024 * 1024;
export const FRAME_BYTES_PER_SECOND = 4 * 1024 * 1024;
/** What a frame or a ping counts as at the least. */
export const MIN_FRAME_BYTES = 256;

/** Frames about deployments a device may send at once, and a second after that. Each costs a durable write. */
export const EVENTS_AT_ONCE = 500;
export const EVENTS_PER_SECOND = 50;
/** A frame counts once more for each of so many bytes. */
export const EVENT_UNIT_BYTES = 8 * 1024;

/** Reports a device may send at once, and a second after that. Each costs a write. */
export const REPORTS_AT_ONCE = 30;
export const REPORTS_PER_SECOND = 2;

/**
 * How fast devices are listened to. One that sends more is held back: its connection is not read meanwhile. Where the
 * signal aborts, nobody waits any longer, and what was waiting does not count.
 */
export class FramePace {
  readonly #bytes: Paces;
  readonly #events: Paces;
  readonly #reports: Paces;

  constructor(clock: Clock) {
    this.#bytes = new Paces(clock, FRAME_BYTES_AT_ONCE, FRAME_BYTES_PER_SECOND);
    this.#events = new Paces(clock, EVENTS_AT_ONCE, EVENTS_PER_SECOND);
    this.#reports = new Paces(clock, REPORTS_AT_ONCE, REPORTS_PER_SECOND);
  }

  /** Resolves when a frame of this size may be read, whatever it says. */
  read(assetUuid: string, bytes: number, signal: AbortSignal): Promise<void> {
    return this.#bytes.of(assetUuid).turn(Math.max(bytes, MIN_FRAME_BYTES), signal);
  }

  /** Resolves when what the frame says may be dealt with. */
  async deal(assetUuid: string, frame: AgentFrame, bytes: number, signal: AbortSignal): Promise<void> {
    switch (frame.type) {
      case "hello":
        return this.#events.of(assetUuid).turn(1 + frame.deployments.length, signal);
      case "ack":
      case "refuse":
      case "event":
        return this.#events.of(assetUuid).turn(1 + Math.floor(bytes / EVENT_UNIT_BYTES), signal);
      case "report":
        return this.#reports.of(assetUuid).turn(1, signal);
      case "answer":
      case "query_end":
    }
  }

  /** The device has had this many of its deployments gone through: what it says of deployments next waits for them. */
  spend(assetUuid: string, deployments: number): void {
    this.#events.of(assetUuid).spend(deployments);
  }
}
