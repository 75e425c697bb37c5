import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";

/** Takes every free byte of a directory's disk, as an app that logs too much would. Answers the file that holds them. */
export function fillDisk(directory: string): string {
  const path = join(directory, "filler");
  const file = openSync(path, "w");
  for (let size = 1 << 20; size >= 512; size /= 2) {
    try {
      for (;;) writeSync(file, Buffer.alloc(size, 1));
    } catch {
      // Full for chunks of this size.
    }
  }
  closeSync(file);
  return path;
}
