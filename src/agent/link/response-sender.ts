import type { AgentFrame } from "../../protocol/link/frames.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { MAX_FRAME_BYTES } from "../../protocol/limits.ts";

type ResponseFrame = Extract<AgentFrame, { type: "answer" | "query_end" | "report" | "report_held" }>;

/** The part of a connection that the sender uses. */
export interface ResponseChannel {
  /** Calls `onSent` once the text has been handed to the system, or has failed. */
  send(text: string, onSent: () => void): void;
  ping(): void;
}

/** Maximum unconfirmed bytes before a ping checks that they have arrived. */
const MAX_UNCONFIRMED_BYTES = 32 * 1024;

/**
 * Sends answers and reports one frame at a time, no faster than the link transmits them: data queued in buffers of the
 * system and the modem would delay later events of deployments. After a number of bytes it sends a ping and waits for the
 * pong before it continues.
 */
export class ResponseSender implements Disposable {
  readonly #channel: ResponseChannel;
  #last: Promise<void> = Promise.resolve();
  #unconfirmedBytes = 0;
  #onPong: (() => void) | undefined;
  #isDisposed = false;

  constructor(channel: ResponseChannel) {
    this.#channel = channel;
  }

  /** Resolves with the frame's size in bytes once it is sent. Rejects with `Internal` if the frame is too large. */
  async send(frame: ResponseFrame, signal: AbortSignal): Promise<number> {
    const text = JSON.stringify(frame);
    const bytes = Buffer.byteLength(text);
    if (bytes > MAX_FRAME_BYTES) throw new EdgeError("Internal", "The answer is larger than the maximum frame size.");
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    try {
      await before;
      signal.throwIfAborted();
      await new Promise<void>((sent) => this.#channel.send(text, sent));
      this.#unconfirmedBytes += bytes;
      if (this.#unconfirmedBytes >= MAX_UNCONFIRMED_BYTES) await this.#awaitPong();
      return bytes;
    } finally {
      resolve();
    }
  }

  /** Handles a pong: everything sent before its ping has arrived. */
  pong(): void {
    this.#onPong?.();
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#onPong?.();
  }

  async #awaitPong(): Promise<void> {
    this.#unconfirmedBytes = 0;
    if (this.#isDisposed) return;
    await new Promise<void>((arrived) => {
      this.#onPong = arrived;
      this.#channel.ping();
    });
    this.#onPong = undefined;
  }
}
