import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

/*
 * Docker fetches a layer once, shared by all pulls that need it. When the agent is killed during a pull, Docker retries
 * the old pull's address for half a minute with growing delays, and a new pull waits for that. So the new pull is
 * offered at the old address, and Docker continues at its first retry. Addresses are kept by the image's configuration, which is
 * the same in whatever form its layers are offered.
 */

const addressSchema = z.object({
  port: z.int().min(1024).max(65_535),
  secret: z.string().regex(/^[0-9a-f]{32}$/),
});
export type LoopbackAddress = z.output<typeof addressSchema>;

/** Returns the address of an interrupted pull of the image; `undefined` when there is none, or it is unreadable. */
export function loadAddress(directory: string, digest: string): LoopbackAddress | undefined {
  try {
    return addressSchema.parse(JSON.parse(readFileSync(pathOf(directory, digest), "utf8")));
  } catch {
    return undefined;
  }
}

/** Saves the address, readable by the agent alone. Errors are ignored: they only cost half a minute after a crash. */
export function saveAddress(directory: string, digest: string, address: LoopbackAddress): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    writeFileSync(pathOf(directory, digest), JSON.stringify(address), { mode: 0o600 });
  } catch {
    // The download itself reports what is wrong with the directory.
  }
}

export function deleteAddress(directory: string, digest: string): void {
  try {
    rmSync(pathOf(directory, digest), { force: true });
  } catch {
    // A stale address is harmless: it is only tried first.
  }
}

function pathOf(directory: string, digest: string): string {
  return join(directory, `${digest.replace(/^sha256:/, "")}.address`);
}
