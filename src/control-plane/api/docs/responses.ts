import { z } from "zod";
import { type ErrorCode, errorEntry } from "../../../protocol/errors.ts";
import { errorStatus } from "../errors.ts";

/** A response header in the OpenAPI document: a JSON Schema with a description. */
export type HeaderSchema = Readonly<Record<string, unknown>> & { readonly description: string };

/** One response in the form the OpenAPI document and Fastify both understand. */
export interface DocumentedResponse<T extends z.ZodType = z.ZodType> {
  readonly description: string;
  readonly headers?: Readonly<Record<string, HeaderSchema>>;
  readonly content: Readonly<Record<string, { readonly schema: T }>>;
}

// What any endpoint behind a key may answer, whatever it does.
const COMMON: readonly ErrorCode[] = [
  "BadRequest",
  "Unauthorized",
  "TooManyRequests",
  "Internal",
  "ServiceUnavailable",
];

// What any endpoint that takes a body may answer beside that.
const WITH_BODY: readonly ErrorCode[] = ["InvalidJson", "PayloadTooLarge", "UnsupportedMediaType", "InvalidRequest"];

const seconds = (description: string): HeaderSchema => ({ type: "integer", description });

const ERROR_HEADERS: Partial<Record<ErrorCode, Readonly<Record<string, HeaderSchema>>>> = {
  TooManyRequests: {
    "Retry-After": seconds("Seconds until the next request is let through."),
    "RateLimit-Limit": { type: "integer", description: "Requests a key may make in the window." },
    "RateLimit-Remaining": { type: "integer", description: "Requests left in the window." },
    "RateLimit-Reset": seconds("Seconds until the window begins anew."),
  },
  QuotaExceeded: { "Retry-After": seconds("Seconds after which to try again.") },
  ServiceUnavailable: { "Retry-After": seconds("Seconds after which to try again, where that is known.") },
};

/** A successful answer with a JSON body. */
export function json<T extends z.ZodType>(
  description: string,
  schema: T,
  headers?: Readonly<Record<string, HeaderSchema>>,
): DocumentedResponse<T> {
  return { description, content: { "application/json": { schema } }, ...(headers && { headers }) };
}

/** The error answers of an endpoint: the codes given, and those every endpoint has. */
export function errors(...codes: readonly ErrorCode[]): Record<number, DocumentedResponse> {
  const byStatus = Map.groupBy([...codes, ...COMMON], errorStatus);
  return Object.fromEntries([...byStatus].map(([status, codes]) => [status, errorResponse(codes)]));
}

/** The error answers of an endpoint with a JSON body. */
export function errorsWithBody(...codes: readonly ErrorCode[]): Record<number, DocumentedResponse> {
  return errors(...codes, ...WITH_BODY);
}

function errorResponse(codes: readonly ErrorCode[]): DocumentedResponse {
  const schema = z
    .strictObject({
      code: z.enum(codes as [ErrorCode, ...ErrorCode[]]),
      message: z.string(),
      details: z.record(z.string(), z.unknown()).optional(),
    })
    .meta({ examples: codes.map((code) => ({ code, message: errorEntry(code).message })) });
  const headers = Object.assign({}, ...codes.map((code) => ERROR_HEADERS[code])) as Record<string, HeaderSchema>;
  return {
    description: codes.map((code) => `\`${code}\`: ${errorEntry(code).message}`).join(" "),
    content: { "application/json": { schema } },
    ...(Object.keys(headers).length > 0 && { headers }),
  };
}
