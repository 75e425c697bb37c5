import { createHash, randomBytes } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import { z } from "zod";
import { writeAtomically } from "../../lib/write-atomically.ts";

const NONCE_BYTES = 24;
const MODE = 0o600;

const attemptSchema = z.object({ code_hash: z.string(), nonce: z.string() });

/**
 * Returns the nonce that identifies repeated attempts with a code as those of one device. On disk when this returns, since
 * power may fail between the exchange of the code and storing its token. Throws if it cannot be written, before the code is
 * used on a device that could not store the token either.
 */
export function loadOrCreateNonce(path: string, code: string): string {
  const codeHash = createHash("sha256").update(code).digest("hex");
  const earlier = readAttempt(path);
  if (earlier?.code_hash === codeHash) return earlier.nonce;
  const nonce = randomBytes(NONCE_BYTES).toString("base64url");
  writeAtomically(path, JSON.stringify({ code_hash: codeHash, nonce }), { mode: MODE });
  return nonce;
}

/** Deletes the nonce, once the token is stored. */
export function deleteNonce(path: string): void {
  rmSync(path, { force: true });
}

function readAttempt(path: string): z.output<typeof attemptSchema> | undefined {
  try {
    return attemptSchema.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    // Missing or incomplete: a new one is created.
    return undefined;
  }
}
