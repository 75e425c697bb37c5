import { open, rename } from "node:fs/promises";
import { dirname } from "node:path";

/** Resolves when what was written to the file, or which names a directory holds, survives a power cut. */
async function fsync(path: string): Promise<void> {
  await using handle = await open(path, "r");
  await handle.sync();
}

/** Gives a complete file its final name, replacing what has it: after a power cut there is the old one or the new one. */
export async function moveIntoPlace(path: string, target: string): Promise<void> {
  await fsync(path);
  await rename(path, target);
  await fsync(dirname(target));
}
