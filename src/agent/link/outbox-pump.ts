import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { AgentFrame } from "../../protocol/link/frames.ts";
import { MAX_FRAME_BYTES } from "../../protocol/limits.ts";
import { SendWindow } from "../core/link/send-window.ts";
import type { EventSource, OutboxEvent } from "../store/outbox.ts";

/** Maximum number of unacknowledged events. */
const MAX_UNACKED_EVENTS = 64;

/** Maximum bytes buffered in the socket; a slow link would fill memory otherwise. */
const MAX_BUFFERED_BYTES = 64 * 1024;

/** Delay before the outbox is read again after an error, in milliseconds. */
const RETRY_DELAY_MS = 5_000;

type EventFrame = Extract<AgentFrame, { type: "event" }>;

/** The part of a socket that the pump uses. */
export interface FrameSink {
  readonly bufferedAmount: number;
  /** Calls `onSent` once the text has been handed to the system, or has failed. */
  send(text: string, onSent: () => void): void;
}

export interface OutboxPumpOptions {
  readonly events: EventSource;
  readonly sink: FrameSink;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called after events were sent. */
  readonly onSent: () => void;
}

/**
 * Sends the outbox's events over one session, from the oldest unacknowledged one, in order, each once, with a bounded
 * number unacknowledged. Starts with the first call of `pump`. Events not acknowledged by the end of the session are sent
 * again in the next one.
 */
export class OutboxPump implements Disposable {
  readonly #options: OutboxPumpOptions;
  readonly #window = new SendWindow(MAX_UNACKED_EVENTS);
  readonly #subscription: Disposable;
  #position = 0;
  #retry: Disposable | undefined;
  #isPaused = false;
  #isStalled = false;
  #isDisposed = false;

  constructor(options: OutboxPumpOptions) {
    this.#options = options;
    this.#subscription = options.events.onEvents(() => this.pump());
  }

  /** When the oldest unacknowledged event was sent, in monotonic milliseconds. */
  get unackedSince(): number | undefined {
    return this.#window.oldestSentAt;
  }

  /** Sends as many events as the limits allow. */
  pump(): void {
    if (this.#isPaused || this.#isDisposed) return;
    // Prevents reentrant calls, which would break the order.
    this.#isPaused = true;
    const before = this.#position;
    try {
      while (this.#sendBatch());
    } catch (error) {
      this.#options.logger.error(
        { err: error },
        "events could not be read from the store; reading is retried. See: edge-agent doctor (store)",
      );
      // A deployment's last event is followed by no other that would trigger sending.
      this.#retry?.[Symbol.dispose]();
      this.#retry = this.#options.clock.timer(RETRY_DELAY_MS, () => this.pump());
    } finally {
      this.#isPaused = false;
    }
    if (this.#position !== before) this.#options.onSent();
  }

  /** Called when data of any sender has left the socket's buffer: continues if the pump waits for that. */
  drained(): void {
    if (this.#isStalled && this.#options.sink.bufferedAmount < MAX_BUFFERED_BYTES) this.pump();
  }

  /** Runs `action` without sending events meanwhile, then sends them. */
  withPaused(action: () => void): void {
    this.#isPaused = true;
    try {
      action();
    } finally {
      this.#isPaused = false;
    }
    this.pump();
  }

  /** Handles an acknowledgement of all events of the deployment up to `deviceSeq`. Returns false if it is invalid. */
  acknowledge(deploymentId: string, deviceSeq: number): boolean {
    if (!this.#window.acknowledge(deploymentId, deviceSeq)) return false;
    try {
      this.#options.events.acknowledge(deploymentId, deviceSeq);
    } catch (error) {
      // They are sent and acknowledged again in the next session.
      this.#options.logger.error(
        { err: error, deployment_id: deploymentId },
        "an acknowledgement could not be stored; its events are sent again, which is harmless. See: edge-agent doctor (disk, store)",
      );
    }
    this.pump();
    return true;
  }

  /** Stops waiting for acknowledgements of events sent up to `sentAt`: they arrived and were not acknowledged. */
  stopWaiting(sentAt: number): void {
    this.#window.stopWaiting(sentAt);
    this.pump();
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#retry?.[Symbol.dispose]();
    this.#subscription[Symbol.dispose]();
  }

  /** Returns whether more events may be sent now. */
  #sendBatch(): boolean {
    const { events, sink, clock } = this.#options;
    const { room } = this.#window;
    if (room === 0) return false;
    const batch = events.pendingEvents(this.#position, room);
    for (const item of batch) {
      this.#isStalled = sink.bufferedAmount >= MAX_BUFFERED_BYTES;
      if (this.#isStalled) return false;
      sink.send(this.#encode(item), () => this.drained());
      this.#window.sent(item.deploymentId, item.event.device_seq, clock.monotonic());
      this.#position = item.position;
    }
    return batch.length === room;
  }

  #encode({ deploymentId, event }: OutboxEvent): string {
    const frame: EventFrame = { type: "event", deployment_id: deploymentId, event };
    const text = JSON.stringify(frame);
    if (Buffer.byteLength(text) <= MAX_FRAME_BYTES) return text;
    // A frame that is too large would end this session and every later one. Only details can be that large.
    this.#options.logger.warn(
      { deployment_id: deploymentId },
      "an event's details are too large to send and are left out",
    );
    const { details: _, ...rest } = event;
    return JSON.stringify({ ...frame, event: rest } satisfies EventFrame);
  }
}
