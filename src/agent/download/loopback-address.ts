import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

/*
 * An engine fetches a layer once, however many pulls want it. When the agent is killed in mid-pull, Docker goes on
 * trying the old pull's address, for half a minute and with growing pauses, and has the new pull wait for that. So the
 * new one is offered where the old one was, and the engine goes on at its first retry.
 */

const addressSchema = z.object({
  port: z.int().min(1024).max(65_535),
  secret: z.string().regex(/^[0-9a-f]{32}$/),
});
export type LoopbackAddress = z.output<typeof addressSchema>;

/** Where the image was offered when the agent was killed; `undefined` where it was not, or that cannot be read. */
export function loadAddress(directory: string, digest: string): LoopbackAddress | undefined {
  try {
    return addressSchema.parse(JSON.parse(readFileSync(pathOf(directory, digest), "utf8")));
  } catch {
    return undefined;
  }
}

/** Readable by the agent alone. What cannot be written costs half a minute after a crash, and no more. */
export function saveAddress(directory: string, digest: string, address: LoopbackAddress): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    writeFileSync(pathOf(directory, digest), JSON.stringify(address), { mode: 0o600 });
  } catch {
    // The download itself says what is wrong with the directory.
  }
}

export function deleteAddress(directory: string, digest: string): void {
  try {
    rmSync(pathOf(directory, digest), { force: true });
  } catch {
    // An address that stays is no more than a place to try first.
  }
}

function pathOf(directory: string, digest: string): string {
  return join(directory, `${digest.replace(/^sha256:/, "")}.address`);
}
