import { z } from "zod";
import { type ErrorCode, errorEntry } from "../../../protocol/errors/errors.ts";
import { errorCodeSchema } from "../../../protocol/deployments/deployment-event.ts";
import { errorStatus } from "../errors.ts";
import { anyObject } from "../../../protocol/values/scalars.ts";

/** A response header in the OpenAPI document: a JSON Schema with a description. */
export type HeaderSchema = Readonly<Record<string, unknown>> & { readonly description: string };

/** One response, in the form that the OpenAPI generator and Fastify both accept. */
export interface DocumentedResponse<T extends z.ZodType = z.ZodType> {
  readonly description: string;
  readonly headers?: Readonly<Record<string, HeaderSchema>>;
  readonly content: Readonly<Record<string, DocumentedBody<T>>>;
}

/** A body by its media type. The schema and the examples of a stream are those of one message. */
export interface DocumentedBody<T extends z.ZodType = z.ZodType> {
  readonly schema: T;
  /** By name. */
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

/** The body of every error response that is not a stream. */
const errorSchema = z
  .object({
    code: errorCodeSchema,
    message: z.string().meta({ description: "What is wrong, for people." }),
    details: anyObject.optional().meta({ description: "More about the error; its entries depend on the code." }),
  })
  .meta({ id: "Error", description: "Why the request was refused, or failed." });

/**
 * Codes of refusals that have to do with the request as such, whatever the operation: its form, key, size, rate and repetition, and
 * the state of the service. The response `default` of every operation has them. A status with a further code of the operation lists
 * them, too.
 */
const GENERAL = {
  BadRequest:
    "400; 408, 417 or 431 for a request that comes too slowly, has an unknown `Expect`, or has headers that are too large",
  InvalidJson: "400",
  Unauthorized: "401",
  Forbidden: "403: the role lacks the permission",
  CrossSiteRequest: "403",
  NotFound: "404: there is no such address",
  MethodNotAllowed: "405: the address does not have this method",
  IdempotencyInProgress: "409, of a change",
  IdempotencyResponseLost: "409, of a change",
  PayloadTooLarge: "413",
  UnsupportedMediaType: "415",
  InvalidRequest: "422",
  IdempotencyKeyReused: "422, of a change",
  TooManyRequests: "429",
  Internal: "500: a fault of the service",
  ServiceUnavailable: "503",
} as const satisfies Partial<Record<ErrorCode, string>>;

// Errors of every endpoint.
const PUBLIC: readonly ErrorCode[] = ["BadRequest", "InvalidRequest", "TooManyRequests", "ServiceUnavailable"];

// Errors of every endpoint with authentication.
const COMMON: readonly ErrorCode[] = [...PUBLIC, "Unauthorized", "Forbidden", "CrossSiteRequest"];

// Further errors of every endpoint that a client may send a body to.
const WITH_BODY: readonly ErrorCode[] = ["InvalidJson", "PayloadTooLarge", "UnsupportedMediaType"];

// Further errors of every endpoint that changes something for a principal.
const OF_CHANGES: readonly ErrorCode[] = ["IdempotencyKeyReused", "IdempotencyInProgress", "IdempotencyResponseLost"];

const seconds = (description: string): HeaderSchema => ({ type: "integer", description });

/** Response headers of an operation that responds with a resource. Reads and conditional changes have them without saying so. */
export const ENTITY_TAG_HEADERS = {
  ETag: {
    type: "string",
    description: "Entity tag, for `If-None-Match`, and for `If-Match` of changes to the resource.",
  },
} as const;

const CHALLENGE_HEADER: HeaderSchema = {
  type: "string",
  description: "What the service accepts: `Bearer`, an API key.",
};

const ERROR_HEADERS: Partial<Record<ErrorCode, Readonly<Record<string, HeaderSchema>>>> = {
  TooManyRequests: {
    "Retry-After": seconds("Seconds after which to retry."),
    "RateLimit-Limit": { type: "integer", description: "Requests that a key or a person may send in the window." },
    "RateLimit-Remaining": { type: "integer", description: "Requests left in the window." },
    "RateLimit-Reset": seconds("Seconds until the next window."),
  },
  QuotaExceeded: { "Retry-After": seconds("Seconds after which to retry.") },
  ServiceUnavailable: { "Retry-After": seconds("Seconds after which to retry.") },
  IdempotencyInProgress: { "Retry-After": seconds("Seconds after which to retry.") },
  DeviceNotReachable: { "Retry-After": seconds("Seconds after which to retry.") },
  EngineUnavailable: { "Retry-After": seconds("Seconds after which to retry.") },
  EndpointRemoved: { Link: { type: "string", description: 'The replacement: `rel="successor-version"`.' } },
  MethodNotAllowed: { Allow: { type: "string", description: "The methods that the address has." } },
  Unauthorized: { "WWW-Authenticate": CHALLENGE_HEADER },
  SignInFailed: { "WWW-Authenticate": CHALLENGE_HEADER },
};

/** The body of a stream with messages of this schema. */
export function messages<T extends z.ZodType>(schema: T, examples: readonly unknown[]): DocumentedBody<T> {
  return { schema, examples: Object.fromEntries(examples.map((value, index) => [`message ${index + 1}`, { value }])) };
}

/** A successful response with a JSON body. */
export function json<T extends z.ZodType>(
  description: string,
  schema: T,
  headers?: Readonly<Record<string, HeaderSchema>>,
): DocumentedResponse<T> {
  return { description, content: { "application/json": { schema } }, ...(headers && { headers }) };
}

/** The error responses of an endpoint with one of the given codes, or one of every endpoint that is not general. */
export function errors(...codes: readonly ErrorCode[]): Record<number, DocumentedResponse> {
  return errorResponses([...codes, ...COMMON]);
}

/** The same for an endpoint without authentication. */
export function publicErrors(...codes: readonly ErrorCode[]): Record<number, DocumentedResponse> {
  return errorResponses([...codes, ...PUBLIC]);
}

/** The same for one without authentication and with a JSON request body. */
export function publicErrorsWithBody(...codes: readonly ErrorCode[]): Record<number, DocumentedResponse> {
  return publicErrors(...codes, ...WITH_BODY);
}

/** The same for an endpoint with a JSON request body, or that refuses a body: all but GET. */
export function errorsWithBody(...codes: readonly ErrorCode[]): Record<number, DocumentedResponse> {
  return errors(...codes, ...WITH_BODY, ...OF_CHANGES);
}

const INVALID_STATUS = errorStatus("InvalidRequest");

/** Whether the operation has a code of its own with a status. */
function isOwn([, codes]: readonly [number, readonly ErrorCode[]]): boolean {
  return codes.some((code) => !(code in GENERAL));
}

function errorResponses(codes: readonly ErrorCode[]): Record<number, DocumentedResponse> {
  const byStatus = Map.groupBy(new Set(codes), errorStatus);
  const isRefused = [...byStatus].some((each) => isOwn(each) && each[0] < 500);
  // Linters want a refusal besides `default`: without one of its own, what clients meet most.
  const own = [...byStatus].filter((each) => isOwn(each) || (each[0] === INVALID_STATUS && !isRefused));
  return Object.fromEntries(own.map(([status, codes]) => [status, errorResponse(codes)]));
}

// Many endpoints have the same errors.
const made = new Map<string, DocumentedResponse>();

function errorResponse(codes: readonly ErrorCode[]): DocumentedResponse {
  const key = codes.join();
  const response = made.get(key) ?? makeErrorResponse(codes);
  made.set(key, response);
  return response;
}

/** The description only names the codes: their messages are in the examples, those of general ones in the response `default`. */
function makeErrorResponse(codes: readonly ErrorCode[]): DocumentedResponse {
  const own = codes.filter((code) => !(code in GENERAL));
  const examples = (own.length > 0 ? own : codes).map(
    (code) => [code, { value: { code, message: errorEntry(code).message } }] as const,
  );
  const headers = Object.assign({}, ...codes.map((code) => ERROR_HEADERS[code])) as Record<string, HeaderSchema>;
  return {
    description: `${codes.map((code) => `\`${code}\``).join(", ")}.`,
    content: { "application/json": { schema: errorSchema, examples: Object.fromEntries(examples) } },
    ...(Object.keys(headers).length > 0 && { headers }),
  };
}

/** Returns the response `default` of an operation: all general refusals but these. */
export function generalErrors(...omitted: readonly (keyof typeof GENERAL)[]): DocumentedResponse {
  const left = Object.entries(GENERAL).filter(([code]) => !omitted.some((each) => each === code));
  return {
    ...makeErrorResponse(left.map(([code]) => code as keyof typeof GENERAL)),
    description: `What any operation may refuse with: ${left.map(([code, when]) => `\`${code}\` (${when})`).join(", ")}.`,
  };
}

/** The responses, of which that with this status has further headers. */
export function withHeaders(
  responses: Readonly<Record<number, DocumentedResponse>>,
  status: number,
  headers: Readonly<Record<string, HeaderSchema>>,
): Record<number, DocumentedResponse> {
  const response = responses[status];
  if (!response) throw new Error(`there is no response ${status}`);
  return { ...responses, [status]: { ...response, headers: { ...response.headers, ...headers } } };
}
