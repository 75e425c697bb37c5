import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { AgentFrame } from "../../protocol/frames.ts";
import { MAX_FRAME_BYTES } from "../../protocol/limits.ts";
import { SendWindow } from "../core/link/send-window.ts";
import type { EventSource, OutboxEvent } from "../store/outbox.ts";

/** Events that may wait for their acknowledgement at once. */
const MAX_UNACKED_EVENTS = 64;

/** Bytes handed to the socket and not on their way yet, above which no more are: a slow line fills memory otherwise. */
const MAX_BUFFERED_BYTES = 64 * 1024;

/** Time until an outbox that could not be read is read again, in milliseconds. */
const RETRY_MS = 5_000;

type EventFrame = Extract<AgentFrame, { type: "event" }>;

/** What the pump needs of a socket. */
export interface FrameSink {
  readonly bufferedAmount: number;
  /** `onSent` is called when the text has left this process, or never will. */
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
 * Sends the outbox's events over one session: from the oldest that is not acknowledged, in order, each once, with a
 * bounded number waiting. Begins with the first call of `pump`. What is not acknowledged by the end of the session is
 * sent again on the next one.
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

  /** When the oldest event was sent that waits for its acknowledgement. */
  get unackedSince(): number | undefined {
    return this.#window.oldestSentAt;
  }

  /** Sends what may be sent now. */
  pump(): void {
    if (this.#isPaused || this.#isDisposed) return;
    // Nothing that happens in here may start a second round in the middle of this one: order would be lost.
    this.#isPaused = true;
    const before = this.#position;
    try {
      while (this.#sendBatch());
    } catch (error) {
      this.#options.logger.error(
        { err: error },
        "events could not be read from the store; the link is made anew and they are tried again. See: edge-agent doctor (store)",
      );
      // The last event of a deployment may have nothing behind it that would have it sent.
      this.#retry?.[Symbol.dispose]();
      this.#retry = this.#options.clock.timer(RETRY_MS, () => this.pump());
    } finally {
      this.#isPaused = false;
    }
    if (this.#position !== before) this.#options.onSent();
  }

  /** Something handed to the outlet, by whomever, has left: goes on if that is what was waited for. */
  drained(): void {
    if (this.#isStalled && this.#options.sink.bufferedAmount < MAX_BUFFERED_BYTES) this.pump();
  }

  /** Runs `action` with nothing sent in between, and sends afterwards what it left to send. */
  withPaused(action: () => void): void {
    this.#isPaused = true;
    try {
      action();
    } finally {
      this.#isPaused = false;
    }
    this.pump();
  }

  /** The control plane acknowledged all events of the deployment up to `deviceSeq`. Returns false for one not to be believed. */
  acknowledge(deploymentId: string, deviceSeq: number): boolean {
    if (!this.#window.acknowledge(deploymentId, deviceSeq)) return false;
    try {
      this.#options.events.acknowledge(deploymentId, deviceSeq);
    } catch (error) {
      // Then they are sent again on the next session, and acknowledged again.
      this.#options.logger.error(
        { err: error, deployment_id: deploymentId },
        "an acknowledgement could not be stored; its events are sent again, which does no harm. See: edge-agent doctor (disk, store)",
      );
    }
    this.pump();
    return true;
  }

  /** What was sent up to `sentAt` has arrived, and stays unacknowledged: goes on without waiting for it. */
  stopWaiting(sentAt: number): void {
    this.#window.stopWaiting(sentAt);
    this.pump();
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#retry?.[Symbol.dispose]();
    this.#subscription[Symbol.dispose]();
  }

  /** Returns whether there may be more to send at once. */
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
    // Too large a frame ends the session, this one and every later one. Only the details can be that large.
    this.#options.logger.warn(
      { deployment_id: deploymentId },
      "details of an event were too large to be sent and are left out; the rest of it is sent",
    );
    const { details: _, ...rest } = event;
    return JSON.stringify({ ...frame, event: rest } satisfies EventFrame);
  }
}
