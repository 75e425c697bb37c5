import { createHash } from "node:crypto";
import type { AppSpec } from "../../../protocol/app-spec.ts";
import { invalidRequest } from "../../../protocol/request-error.ts";
import type { Idempotency } from "../../store/deployments.ts";

const VALID = /^[\x21-\x7e]{1,255}$/;

/**
 * What the header `Idempotency-Key` makes of a request. The hash covers what was asked for, not how it was written.
 * Error: `InvalidRequest` for a key that is none.
 */
export function readIdempotency(header: unknown, assetUuid: string, spec: AppSpec): Idempotency | undefined {
  if (header === undefined) return undefined;
  if (typeof header !== "string" || !VALID.test(header)) {
    throw invalidRequest([{ path: "Idempotency-Key", reason: "must be 1 to 255 visible ASCII characters" }]);
  }
  const requestHash = createHash("sha256")
    .update(JSON.stringify([assetUuid, spec]))
    .digest();
  return { key: header, requestHash };
}
