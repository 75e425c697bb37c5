import { mkdtemp, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Creates a temporary directory in `parent`. Disposing it removes it with its contents. */
export async function tempDir(parent: string = tmpdir()): Promise<{ readonly path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(parent, "eat-"));
  return {
    path,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }),
  };
}

const MEMORY = "/dev/shm";
const MIN_FREE_BYTES = 1024 ** 3;

/**
 * The same for what a test writes in many small steps, such as a database: in memory where the machine has room, since every
 * step waits for the disk otherwise.
 */
export async function memoryDir(): ReturnType<typeof tempDir> {
  const memory = await statfs(MEMORY).catch(() => undefined);
  return tempDir(memory && memory.bavail * memory.bsize > MIN_FREE_BYTES ? MEMORY : undefined);
}
