import { createHash, randomBytes } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import { z } from "zod";
import { writeAtomically } from "../../lib/write-atomically.ts";

const NONCE_BYTES = 24;
const MODE = 0o600;

const attemptSchema = z.object({ code_hash: z.string(), nonce: z.string() });

/**
 * By what the control plane tells that a repeated attempt with a code comes from the same device. On disk when this
 * returns: power may fail between the exchange of the code and the moment its token is stored. Throws where it cannot be
 * written, before a code is spent on a device that could not store a token either.
 */
export function loadOrCreateNonce(path: string, code: string): string {
  const codeHash = createHash("sha256").update(code).digest("hex");
  const earlier = readAttempt(path);
  if (earlier?.code_hash === codeHash) return earlier.nonce;
  const nonce = randomBytes(NONCE_BYTES).toString("base64url");
  writeAtomically(path, JSON.stringify({ code_hash: codeHash, nonce }), { mode: MODE });
  return nonce;
}

/** The token is stored: there is nothing to repeat. */
export function forgetNonce(path: string): void {
  rmSync(path, { force: true });
}

function readAttempt(path: string): z.output<typeof attemptSchema> | undefined {
  try {
    return attemptSchema.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    // None, or one that was cut short: a new one takes its place.
    return undefined;
  }
}
