import type { Writable } from "node:stream";
import type { Part } from "./part.ts";
import { FRAME_BYTES } from "./part-format.ts";
import type { ByteRange } from "./range.ts";

/** Frames read and sent in one go. */
const FRAMES_AT_ONCE = 4;

export interface SendOptions {
  /** Called with 1 when bytes are waited for that have not come yet, and with -1 when the wait is over. */
  readonly onWait: (change: 1 | -1) => void;
  /** Called when the receiver has taken some bytes. */
  readonly onSent: () => void;
  readonly signal: AbortSignal;
}

/**
 * Writes a range of a part to the receiver, as far as there are bytes, and the rest as they come. One buffer, whatever
 * the size: the next piece is read once the last one has been taken. Resolves early when the receiver goes away.
 */
export async function sendPart(part: Part, range: ByteRange, to: Writable, options: SendOptions): Promise<void> {
  const gone = new AbortController();
  const onGone = (): void => gone.abort();
  to.once("close", onGone);
  to.on("error", onGone);
  options.signal.addEventListener("abort", onGone, { once: true });
  if (options.signal.aborted || to.destroyed) onGone();
  try {
    const buffer = Buffer.allocUnsafeSlow(FRAMES_AT_ONCE * FRAME_BYTES);
    for (let at = range.start; at < range.end && !gone.signal.aborted;) {
      const pieces = await part.read(at, range.end, buffer);
      if (pieces.length > 0) await write(to, pieces).then(options.onSent);
      else await change(part, at, gone.signal, options.onWait);
      for (const { length } of pieces) at += length;
    }
    if (!gone.signal.aborted) to.end();
  } finally {
    options.signal.removeEventListener("abort", onGone);
  }
}

/** Resolves when the bytes have left this process, or the receiver is gone: then their buffer may be used again. */
function write(to: Writable, pieces: readonly Buffer[]): Promise<void> {
  return new Promise((resolve) => {
    to.cork();
    for (const [index, piece] of pieces.entries()) {
      to.write(piece, () => {
        if (index === pieces.length - 1) resolve();
      });
    }
    to.uncork();
  });
}

/** Resolves when there is more of the part than there was, or nobody waits for it any more. */
async function change(part: Part, at: number, signal: AbortSignal, onWait: SendOptions["onWait"]): Promise<void> {
  if (part.readableBytes > at || signal.aborted) return;
  const aborted = Promise.withResolvers<void>();
  const onAbort = (): void => aborted.resolve();
  signal.addEventListener("abort", onAbort, { once: true });
  onWait(1);
  try {
    await Promise.race([part.changed, aborted.promise]);
  } finally {
    onWait(-1);
    signal.removeEventListener("abort", onAbort);
  }
}
