import type { Writable } from "node:stream";

/**
 * Resolves when the stream takes more data, or is closed. Leaves no listener behind, unlike a race of two `once`: of a
 * long transfer each pause would leave one.
 */
export function untilDrained(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed || !stream.writableNeedDrain) return resolve();
    const done = (): void => {
      stream.off("drain", done);
      stream.off("close", done);
      resolve();
    };
    stream.on("drain", done);
    stream.on("close", done);
  });
}
