import type { z } from "zod";
import { malformed } from "./operator-errors.ts";

/** Returns what the schema says of an answer. Throws `SimOperatorError` where it does not fit. */
export function parseAnswer<T extends z.ZodType>(schema: T, answer: unknown): z.output<T> {
  const parsed = schema.safeParse(answer);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw malformed(`its answer does not make sense at ${issue?.path.join(".") || "the top"}: ${issue?.message}`);
}
