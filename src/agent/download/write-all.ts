import type { FileHandle } from "node:fs/promises";

/** Writes all the buffers at a position of the file. Rejects with the system's error. */
export async function writeAll(file: FileHandle, buffers: readonly Buffer[], position: number): Promise<void> {
  let rest = [...buffers];
  let at = position;
  while (rest.length > 0) {
    const { bytesWritten } = await file.writev(rest, at);
    at += bytesWritten;
    rest = after(rest, bytesWritten);
  }
}

/** Returns the buffers without their first `count` bytes. */
function after(buffers: readonly Buffer[], count: number): Buffer[] {
  let skip = count;
  return buffers.flatMap((buffer) => {
    const rest = buffer.subarray(Math.min(skip, buffer.length));
    skip -= buffer.length - rest.length;
    return rest.length > 0 ? [rest] : [];
  });
}
