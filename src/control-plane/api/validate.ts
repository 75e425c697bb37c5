import type { ZodType } from "zod";
import { toInvalidRequest } from "../../protocol/request-error.ts";

/** Validates a part of a request by its zod schema; the error is `InvalidRequest` with one issue per problem. */
export function validateBy(schema: ZodType): (data: unknown) => { value: unknown } | { error: Error } {
  return (data) => {
    const result = schema.safeParse(data);
    return result.success ? { value: result.data } : { error: toInvalidRequest(result.error) };
  };
}
