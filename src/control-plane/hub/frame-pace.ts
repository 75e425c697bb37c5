import type { Clock } from "../../lib/clock.ts";
import type { AgentFrame } from "../../protocol/frames.ts";
import { Paces } from "../reports/paces.ts";

/** Bytes a device may send at once, and a second after that. */
export const FRAME_BYTES_AT_ONCE = 16 * 1024 * 1024;
export const FRAME_BYTES_PER_SECOND = 4 * 1024 * 1024;

/** Frames about deployments a device may send at once, and a second after that. Each costs a durable write. */
export const EVENTS_AT_ONCE = 500;
export const EVENTS_PER_SECOND = 50;
/** A frame counts once more for each of so many bytes. */
export const EVENT_UNIT_BYTES = 8 * 1024;

const PACED: ReadonlySet<AgentFrame["type"]> = new Set(["ack", "refuse", "event"]);

/** How fast devices are listened to. One that sends more is held back: its connection is not read meanwhile. */
export class FramePace {
  readonly #bytes: Paces;
  readonly #events: Paces;

  constructor(clock: Clock) {
    this.#bytes = new Paces(clock, FRAME_BYTES_AT_ONCE, FRAME_BYTES_PER_SECOND);
    this.#events = new Paces(clock, EVENTS_AT_ONCE, EVENTS_PER_SECOND);
  }

  /** Resolves when it is this frame's turn. @param type `undefined` for a frame that is ignored */
  async turn(assetUuid: string, type: AgentFrame["type"] | undefined, bytes: number): Promise<void> {
    await this.#bytes.of(assetUuid).turn(bytes);
    if (type && PACED.has(type)) await this.#events.of(assetUuid).turn(1 + Math.floor(bytes / EVENT_UNIT_BYTES));
  }
}
