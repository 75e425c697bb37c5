import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";

/** Fills the disk of a directory, as an app that logs too much does. Returns the path of the file it wrote. */
export function fillDisk(directory: string): string {
  const path = join(directory, "filler");
  const file = openSync(path, "w");
  for (let size = 1 << 20; size >= 512; size /= 2) {
    try {
      for (;;) writeSync(file, Buffer.alloc(size, 1));
    } catch {
      // No space for a chunk of this size.
    }
  }
  closeSync(file);
  return path;
}
