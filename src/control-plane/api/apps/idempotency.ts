import { createHash } from "node:crypto";
import { invalidRequest } from "../../../protocol/request-error.ts";
import type { AppCommand } from "../../core/command.ts";
import type { Idempotency } from "../../store/deployments.ts";

const VALID = /^[\x21-\x7e]{1,255}$/;

/**
 * What the header `Idempotency-Key` makes of a request. The hash covers what was asked for, not how it was written, and
 * no credentials for registries: of those nothing is stored. Error: `InvalidRequest` for a key that is none.
 */
export function parseIdempotencyKey(header: unknown, assetUuid: string, command: AppCommand): Idempotency | undefined {
  if (header === undefined) return undefined;
  if (typeof header !== "string" || !VALID.test(header)) {
    throw invalidRequest([{ path: "Idempotency-Key", reason: "must be 1 to 255 visible ASCII characters" }]);
  }
  const { action, app, spec, options } = command;
  const { registry_auth: _never, ...compared } = options;
  const requestHash = createHash("sha256")
    .update(JSON.stringify([assetUuid, action, app, spec, compared]))
    .digest();
  return { key: header, requestHash };
}
