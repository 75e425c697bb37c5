import { open, rename } from "node:fs/promises";
import { dirname } from "node:path";

/** Flushes a file, or a directory's entries, to stable storage (fsync). */
async function fsync(path: string): Promise<void> {
  await using handle = await open(path, "r");
  await handle.sync();
}

/** Renames a complete file to its target, atomically and durably: after a power cut either the old or the new file exists. */
export async function moveIntoPlace(path: string, target: string): Promise<void> {
  await fsync(path);
  await rename(path, target);
  await fsync(dirname(target));
}
