import type { AgentFrame } from "../../protocol/frames.ts";
import { EdgeError } from "../../protocol/errors.ts";
import { MAX_FRAME_BYTES } from "../../protocol/limits.ts";

type ResponseFrame = Extract<AgentFrame, { type: "answer" | "query_end" | "report" }>;

/** What the answers need of a connection. */
export interface ResponseChannel {
  /** `onSent` is called when the text has left this process, or never will. */
  send(text: string, onSent: () => void): void;
  ping(): void;
}

/** Bytes that may be on their way before it is asked whether they have arrived. */
const MAX_UNCONFIRMED_BYTES = 32 * 1024;

/**
 * Sends what the agent tells of itself, one frame at a time, and never more than the line takes: what lies in the
 * buffers of the system and of the modem is before every event that comes after it. So after some frames it waits for the
 * answer to a ping before it goes on.
 */
export class ResponseSender implements Disposable {
  readonly #outlet: ResponseChannel;
  #last: Promise<void> = Promise.resolve();
  #unconfirmedBytes = 0;
  #onPong: (() => void) | undefined;
  #isDisposed = false;

  constructor(outlet: ResponseChannel) {
    this.#outlet = outlet;
  }

  /** Resolves with the bytes sent, once they have left. Rejects with `Internal` for a frame larger than one may be. */
  async send(frame: ResponseFrame, signal: AbortSignal): Promise<number> {
    const text = JSON.stringify(frame);
    const bytes = Buffer.byteLength(text);
    if (bytes > MAX_FRAME_BYTES) throw new EdgeError("Internal", "The answer is larger than a frame may be.");
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    try {
      await before;
      signal.throwIfAborted();
      await new Promise<void>((sent) => this.#outlet.send(text, sent));
      this.#unconfirmedBytes += bytes;
      if (this.#unconfirmedBytes >= MAX_UNCONFIRMED_BYTES) await this.#awaitPong();
      return bytes;
    } finally {
      resolve();
    }
  }

  /** A pong was received: what was sent before its ping has arrived. */
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
      this.#outlet.ping();
    });
    this.#onPong = undefined;
  }
}
