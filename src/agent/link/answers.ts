import type { AgentFrame } from "../../protocol/frames.ts";
import { EdgeError } from "../../protocol/errors.ts";
import { MAX_FRAME_BYTES } from "../../protocol/limits.ts";

type ToldFrame = Extract<AgentFrame, { type: "answer" | "query_end" | "report" }>;

/** Hands a text to the connection; `onSent` is called when it has left this process, or never will. */
export type SendText = (text: string, onSent: () => void) => void;

/**
 * Sends what the agent tells of itself, one frame at a time: the next is handed over when the one before has left. So at
 * most one of them is ever before an event of a deployment, on however slow a line.
 */
export class Answers {
  readonly #send: SendText;
  #last: Promise<void> = Promise.resolve();

  constructor(send: SendText) {
    this.#send = send;
  }

  /** Resolves with the bytes sent, once they have left. Rejects with `Internal` for a frame larger than one may be. */
  async send(frame: ToldFrame, signal: AbortSignal): Promise<number> {
    const text = JSON.stringify(frame);
    const bytes = Buffer.byteLength(text);
    if (bytes > MAX_FRAME_BYTES) throw new EdgeError("Internal", "The answer is larger than a frame may be.");
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    await before;
    if (signal.aborted) {
      resolve();
      signal.throwIfAborted();
    }
    this.#send(text, resolve);
    await promise;
    return bytes;
  }
}
