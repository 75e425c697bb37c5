import { once } from "node:events";
import { createServer } from "node:net";
import { succeed } from "../command.ts";

export interface UniqueNetwork {
  readonly name: string;
  /** For the engine's default network, of 254 addresses. */
  readonly subnet: string;
  /** For 16 further networks of that size. */
  readonly pool: string;
}

const SECONDS = 96;
const THIRDS = 8;

/**
 * Returns a name and address ranges for the networks of one engine of a test, which nobody else on this machine gets until
 * this process ends. Engines of one machine do not know of each other: routes to the same addresses would lead into the
 * network that was made first, and the bridges of one would be removed with those of another. Ranges of bridges that a killed
 * engine has left behind are left out. Rejects if none is left.
 *
 * @param group callers with the same one get different ranges
 * @param used ranges that are left out, by number; default: those in which this machine has an address
 */
export async function uniqueNetwork(
  group = "edge-agent-test-network",
  used?: ReadonlySet<number>,
): Promise<UniqueNetwork> {
  const range = await reserveRange(group, used ?? (await usedRanges()));
  // Beside the ranges of `createBridge`.
  const second = 128 + Math.floor(range / THIRDS);
  const third = 32 * (range % THIRDS);
  return {
    name: `eat-${Math.random().toString(36).slice(2, 10)}`,
    subnet: `10.${second}.${third + 16}.0/24`,
    pool: `10.${second}.${third}.0/20`,
  };
}

async function reserveRange(group: string, used: ReadonlySet<number>): Promise<number> {
  const count = SECONDS * THIRDS;
  const first = Math.floor(Math.random() * count);
  for (let tried = 0; tried < count; tried++) {
    const range = (first + tried) % count;
    if (!used.has(range) && (await reserve(`${group}-${range}`))) return range;
  }
  throw new Error(`all ${count} address ranges for networks of tests are in use`);
}

/** Returns the ranges in which this machine has an address. */
async function usedRanges(): Promise<ReadonlySet<number>> {
  const listed = await succeed("ip", ["-brief", "-4", "address"]);
  const parts = [...listed.matchAll(/ 10\.(\d+)\.(\d+)\./g)].map(([, second, third]) => [
    Number(second),
    Number(third),
  ]);
  return new Set(parts.map(([second = 0, third = 0]) => (second - 128) * THIRDS + Math.floor(third / 32)));
}

/**
 * Takes a name for this process by an abstract socket: the kernel lets one process have it, and frees it when that ends,
 * however it ends. It leaves no file behind.
 */
async function reserve(name: string): Promise<boolean> {
  const server = createServer();
  server.listen(`\0${name}`);
  // Kept until the end of this process, which it does not delay.
  server.unref();
  try {
    await once(server, "listening");
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") return false;
    throw error;
  }
}
