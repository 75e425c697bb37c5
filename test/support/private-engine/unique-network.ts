import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface UniqueNetwork {
  readonly name: string;
  /** For the engine's default network, of 254 addresses. */
  readonly subnet: string;
  /** For 16 further networks of that size. */
  readonly pool: string;
}

/** Files of this process. */
const reserved = new Set<string>();
process.once("exit", () => {
  for (const file of reserved) rmSync(file, { force: true });
});

const SECONDS = 96;
const THIRDS = 8;

/**
 * Returns a name and address ranges for the networks of one engine of a test, which nobody else on this machine gets until
 * this process ends. Engines of one machine do not know of each other: routes to the same addresses would lead into the
 * network that was made first, and the bridges of one would be removed with those of another. Throws if none is left.
 *
 * @param directory where those in use are noted
 */
export function uniqueNetwork(directory: string = tmpdir()): UniqueNetwork {
  const range = reserveRange(directory);
  // Beside the ranges of `createBridge`.
  const second = 128 + Math.floor(range / THIRDS);
  const third = 32 * (range % THIRDS);
  return {
    name: `eat-${Math.random().toString(36).slice(2, 10)}`,
    subnet: `10.${second}.${third + 16}.0/24`,
    pool: `10.${second}.${third}.0/20`,
  };
}

function reserveRange(directory: string): number {
  const count = SECONDS * THIRDS;
  const first = Math.floor(Math.random() * count);
  for (let tried = 0; tried < count; tried++) {
    const range = (first + tried) % count;
    if (reserve(join(directory, `eat-range-${range}`))) return range;
  }
  throw new Error(`all ${count} address ranges for networks of tests are in use`);
}

function reserve(file: string): boolean {
  try {
    writeFileSync(file, String(process.pid), { flag: "wx" });
  } catch {
    // Left behind by a process that was killed. Not taken at once: another process may do the same.
    if (!isOwned(file)) rmSync(file, { force: true });
    return false;
  }
  reserved.add(file);
  return true;
}

function isOwned(file: string): boolean {
  try {
    const pid = Number(readFileSync(file, "utf8"));
    // Not written yet.
    return pid === 0 || process.kill(pid, 0);
  } catch {
    return false;
  }
}
