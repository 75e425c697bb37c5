import { BodyTooLongError, readResponse } from "../../../lib/registry/read-body.ts";
import { parseRetryAfter } from "../../../lib/retry-after.ts";
import { malformed } from "./operator-errors.ts";
import { JSON_LIMITS, JsonLimitError, parseBoundedJson } from "../../../protocol/values/bounded-json.ts";

const { maxBytes: MAX_BYTES } = JSON_LIMITS.operator;
const SPACE = 0x20;
/** Longest pause that is taken from an operator: a day. A wrong header must not stop the service for longer. */
const MAX_PAUSE_MS = 24 * 3_600_000;

/** Returns the pause that a response asks for, in milliseconds; `undefined` if it does not say one. */
export function askedPause({ headers }: Pick<Response, "headers">, nowMs: number): number | undefined {
  const [after, date] = [headers.get("retry-after"), headers.get("date")];
  const pauseMs = parseRetryAfter(after ?? undefined, date ?? undefined, nowMs);
  return pauseMs === undefined ? undefined : Math.min(pauseMs, MAX_PAUSE_MS);
}

/** Reads a body as JSON; `undefined` if it is empty. Throws `SimOperatorError` for anything else, such as a page of a proxy. */
export async function readJson(response: Response): Promise<unknown> {
  const text = await readResponse(response, MAX_BYTES).catch((error: unknown) => {
    throw error instanceof BodyTooLongError ? malformed(`its answer has more than ${MAX_BYTES} bytes`) : error;
  });
  if (text.every((byte) => byte <= SPACE)) return undefined;
  try {
    return parseBoundedJson(text, "operator");
  } catch (cause) {
    if (cause instanceof JsonLimitError) throw malformed(`its answer ${cause.message}`, { cause });
    throw malformed(`it answered ${describeType(response)} instead of JSON`, { cause });
  }
}

function describeType({ headers }: Response): string {
  return headers.get("content-type")?.split(";")[0] ?? "something";
}
