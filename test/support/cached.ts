import { existsSync } from "node:fs";
import { mkdir, rename } from "node:fs/promises";
import { join, resolve } from "node:path";
import { tempDir } from "./temp-dir.ts";

/**
 * Returns the absolute path of a directory that is kept between runs, and calls `fill` with an empty one if it is
 * missing. Concurrent callers, also in other processes, fill one each, and all get the first that was ready.
 *
 * @param name one path segment
 */
export async function cached(
  cache: string,
  name: string,
  fill: (directory: string) => Promise<unknown>,
): Promise<string> {
  const path = resolve(cache, name);
  if (existsSync(path)) return path;
  await mkdir(cache, { recursive: true });
  await using fresh = await tempDir(resolve(cache));
  const whole = join(fresh.path, name);
  await mkdir(whole);
  await fill(whole);
  await rename(whole, path).catch((error: unknown) => {
    if (!existsSync(path)) throw error;
  });
  return path;
}
