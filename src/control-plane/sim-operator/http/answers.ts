import type { z } from "zod";
import { malformed } from "./operator-errors.ts";

/** Returns what the schema says of an answer. Throws `SimOperatorError` where it does not fit. */
export function parseAnswer<T extends z.ZodType>(schema: T, answer: unknown): z.output<T> {
  const parsed = schema.safeParse(answer);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw malformed(`its answer does not make sense at ${issue?.path.join(".") || "the top"}: ${issue?.message}`);
}

/** Most pages that are read for one question: 400 days of hours in several fleets have fewer. */
const MAX_PAGES = 200;

/** Follows pages to the last one. Throws `SimOperatorError` where they go round in circles, or never end. */
export async function* followPages<T>(
  first: string,
  read: (path: string) => Promise<{ readonly page: T; readonly next: string | undefined }>,
): AsyncGenerator<T> {
  const seen = new Set<string>();
  for (let path: string | undefined = first; path !== undefined;) {
    if (seen.has(path) || seen.size >= MAX_PAGES) throw malformed("its pages do not end");
    seen.add(path);
    const { page, next } = await read(path);
    yield page;
    path = next;
  }
}
