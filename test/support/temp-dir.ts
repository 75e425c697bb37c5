import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A directory of the test's own in `parent`; disposing it removes it with everything in it. */
export async function tempDir(parent: string = tmpdir()): Promise<{ readonly path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(parent, "eat-"));
  return {
    path,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }),
  };
}
