import { z } from "zod";
import { parseJson } from "../../../lib/parse-json.ts";

const payloadSchema = z.object({ exp: z.number() });

/**
 * Returns how long a JSON Web Token is valid from now on, in milliseconds; `undefined` where it does not say. Its signature is the
 * operator's own affair. Source: RFC 7519, section 4.1.4.
 */
export function tokenLifetimeMs(token: string, nowMs: number): number | undefined {
  const [, payload] = token.split(".");
  if (payload === undefined) return undefined;
  const parsed = payloadSchema.safeParse(parseJson(Buffer.from(payload, "base64url"), "short"));
  return parsed.success ? Math.max(0, parsed.data.exp * 1000 - nowMs) : undefined;
}
