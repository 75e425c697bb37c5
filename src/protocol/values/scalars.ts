import { z } from "zod";
import { DEFAULT_PAGE_SIZE, MAX_CURSOR_LENGTH, MAX_PAGE_SIZE } from "../limits.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** As many digits as the largest integer has that JSON parsers read exactly. */
const DECIMAL = /^[0-9]{1,16}$/;

/** Whether a text has the form of a UUID, in either case. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** End of the year 9999, in Unix seconds: the last instant that every date format in use can write. */
export const MAX_UNIX_SECONDS = 253_402_300_799;
const NOT_SECONDS = "must be in Unix seconds, and at most the end of the year 9999; is it in milliseconds?";

/** A point in time on the wire: integer Unix seconds, UTC. */
export function unixSeconds(description: string) {
  return z
    .int()
    .min(0)
    .max(MAX_UNIX_SECONDS, NOT_SECONDS)
    .meta({ description: `${description} Unix seconds.` });
}

/** An integer in a query string. Digits only: `1e3`, ` 7` and `0x10` are not valid. */
export function integerString(min: number, max: number) {
  return z
    .string()
    .refine((text) => DECIMAL.test(text), {
      error: ({ input }) => (/^-?[0-9]+$/.test(String(input)) ? `must be from ${min} to ${max}` : "must be an integer"),
    })
    .transform(Number)
    .pipe(max === MAX_UNIX_SECONDS ? z.int().min(min).max(max, NOT_SECONDS) : z.int().min(min).max(max))
    .meta({ type: "integer", minimum: min, maximum: max });
}

/** Where a page of a list begins. */
export const cursorSchema = z.string().min(1).max(MAX_CURSOR_LENGTH).meta({
  description:
    "`next_cursor` of the previous page. It holds the filters and the range of the list: leave them out, or repeat them.",
});

/** How many entries a page of a list has. */
export const pageSizeSchema = integerString(1, MAX_PAGE_SIZE).meta({
  description: `Entries per page, 1 to ${MAX_PAGE_SIZE}; ${DEFAULT_PAGE_SIZE} by default.`,
  examples: [DEFAULT_PAGE_SIZE],
});

/** A boolean in a query string: `true` or `false`. */
export function booleanString() {
  return z
    .string()
    .refine((text) => text === "true" || text === "false", "must be true or false")
    .transform((text) => text === "true")
    .pipe(z.boolean())
    .meta({ type: "boolean" });
}

/**
 * An object whose fields are not looked at here. How many there are is bounded where the document was counted
 * (`bounded-json.ts`); `z.record` would take each of them apart.
 */
export const anyObject = z
  .custom<Record<string, unknown>>(
    (value) => typeof value === "object" && value !== null && !Array.isArray(value),
    "must be an object",
  )
  .meta({ type: "object", additionalProperties: {} });
