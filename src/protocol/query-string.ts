import { z } from "zod";

const DECIMAL = /^[0-9]{1,15}$/;

/** An integer in a query string: digits only, so that `1e3`, ` 7` and `0x10` are refused rather than guessed at. */
export function integerString(min: number, max: number) {
  return z
    .string()
    .refine((text) => DECIMAL.test(text), "must be an integer")
    .transform(Number)
    .pipe(z.int().min(min).max(max))
    .meta({ type: "integer", minimum: min, maximum: max });
}

/** A yes or no in a query string: `true` or `false`, in these words. */
export function booleanString() {
  return z
    .string()
    .refine((text) => text === "true" || text === "false", "must be true or false")
    .transform((text) => text === "true")
    .pipe(z.boolean())
    .meta({ type: "boolean" });
}
