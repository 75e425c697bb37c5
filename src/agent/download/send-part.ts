import type { Writable } from "node:stream";
import type { Part } from "./part.ts";
import { FRAME_BYTES } from "./part-format.ts";
import type { ByteRange } from "./range.ts";

/** Frames per read. */
const FRAMES_PER_READ = 4;

export interface SendOptions {
  /** Called with 1 when it begins to wait for bytes of the download, and with -1 when the wait is over. */
  readonly onWait: (change: 1 | -1) => void;
  /** Called when bytes have been sent to the receiver. */
  readonly onSent: () => void;
  readonly signal: AbortSignal;
}

/** A layer that is passed on to the engine, possibly while it arrives. */
export interface ServedLayer {
  /** Writes a range of the layer to the receiver. Resolves early when the receiver disconnects. */
  send(range: ByteRange, to: Writable, options: SendOptions): Promise<void>;
}

/**
 * Writes a range of a part to the receiver, waiting for bytes that are still being downloaded. Uses one buffer of fixed
 * size: the next piece is read once the last one has been sent. Resolves early when the receiver disconnects.
 */
export async function sendPart(part: Part, range: ByteRange, to: Writable, options: SendOptions): Promise<void> {
  const gone = new AbortController();
  const onGone = (): void => gone.abort();
  to.once("close", onGone);
  to.on("error", onGone);
  options.signal.addEventListener("abort", onGone, { once: true });
  if (options.signal.aborted || to.destroyed) onGone();
  try {
    const buffer = Buffer.allocUnsafeSlow(FRAMES_PER_READ * FRAME_BYTES);
    for (let at = range.start; at < range.end && !gone.signal.aborted;) {
      const pieces = await part.read(at, range.end, buffer);
      if (pieces.length > 0) await sendPieces(to, pieces).then(options.onSent);
      else await waitForMore(part, at, gone.signal, options.onWait);
      for (const { length } of pieces) at += length;
    }
    if (!gone.signal.aborted) to.end();
  } finally {
    options.signal.removeEventListener("abort", onGone);
  }
}

/** Resolves when the bytes are sent or the receiver is gone, so that their buffer can be reused. */
export function sendPieces(to: Writable, pieces: readonly Uint8Array[]): Promise<void> {
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

/** Resolves when the part has readable bytes after `at`, or the receiver is gone. */
async function waitForMore(part: Part, at: number, signal: AbortSignal, onWait: SendOptions["onWait"]): Promise<void> {
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
