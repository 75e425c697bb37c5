import type { FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "../../lib/logger.ts";
import type { ZodError, ZodType } from "zod";
import { EdgeError, type ErrorCode, errorEntry } from "../../protocol/errors/errors.ts";
import { IN_WORDS } from "../../protocol/values/issue-words.ts";
import { invalidRequest, listIssues, listQueryIssues, type RequestIssue } from "../../protocol/errors/request-error.ts";
import { STORE_RETRY_AFTER_S, StoreUnavailableError } from "../store/unavailable.ts";
import { toHeaderName } from "./headers.ts";

/** Body of every error response that is not an event stream. */
export interface ErrorBody {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

// Error codes of Fastify.
const FRAMEWORK_CODES: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: "PayloadTooLarge",
  FST_ERR_CTP_INVALID_MEDIA_TYPE: "UnsupportedMediaType",
};

/** Default `Retry-After` in seconds, for errors without `details.retry_after_s`. */
const DEFAULT_RETRY_AFTER_S: Partial<Record<ErrorCode, number>> = {
  TooManyRequests: 5,
  QuotaExceeded: 3600,
  ServiceUnavailable: STORE_RETRY_AFTER_S,
  IdempotencyInProgress: 1,
  // About as long as a device takes to connect again after its link or its engine was gone.
  DeviceNotReachable: 30,
  EngineUnavailable: 30,
};

/** HTTP status of a response that consists of this error. */
export function errorStatus(code: ErrorCode): number {
  return errorEntry(code).http ?? 500;
}

/** HTTP status of an event stream that consists of one `Fail` event with this code. */
export function failureStreamStatus(code: ErrorCode): number {
  const entry = errorEntry(code);
  return entry.endsDeployment ? 200 : entry.http;
}

/** Validates a part of a request by its zod schema. Error: `InvalidRequest` with one issue per problem. */
export function validateBy(schema: ZodType, part?: string): (data: unknown) => { value: unknown } | { error: Error } {
  return (data) => {
    const { success, data: value, error } = schema.safeParse(data, IN_WORDS);
    return success ? { value } : { error: invalidRequest(issuesOf(error, schema, part, data)) };
  };
}

function issuesOf(error: ZodError, schema: ZodType, part: string | undefined, data: unknown): RequestIssue[] {
  if (part === "querystring") {
    const isRepeated = (path: string) => Array.isArray((data as Readonly<Record<string, unknown>>)[path]);
    return listQueryIssues(error, schema).map(({ path, reason }) => ({
      path,
      reason: isRepeated(path) ? "is given more than once" : reason,
    }));
  }
  const issues = listIssues(error, schema);
  return part === "headers" ? issues.map(({ path, reason }) => ({ path: toHeaderName(path), reason })) : issues;
}

/** Converts a thrown value to a typed error. One that the client did not cause becomes `Internal`. */
function toEdgeError(error: unknown): EdgeError {
  if (error instanceof EdgeError) return error;
  if (error instanceof StoreUnavailableError) {
    return new EdgeError("ServiceUnavailable", "The database does not respond.", undefined, { cause: error });
  }
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown };
  if (code === "FST_ERR_BAD_URL") {
    return new EdgeError(
      "BadRequest",
      "The path has a % that begins no valid escape of UTF-8, such as %2F for a slash.",
    );
  }
  const known = typeof code === "string" ? FRAMEWORK_CODES[code] : undefined;
  if (known) return new EdgeError(known, undefined, undefined, { cause: error });
  if (typeof statusCode === "number" && statusCode >= 400 && statusCode < 500) {
    return new EdgeError("BadRequest", undefined, undefined, { cause: error });
  }
  return new EdgeError("Internal", undefined, undefined, { cause: error });
}

/** Converts an error to its JSON body. */
export function toErrorBody(error: EdgeError): ErrorBody {
  const { code, message, details } = error;
  return { code, message, ...(details && { details }) };
}

/** Converts a thrown value to an error that clients may see. Logs an internal error, and returns it with the request's id only. */
export function toPublicError(error: unknown, request: FastifyRequest, logger: Logger): EdgeError {
  const edgeError = toEdgeError(error);
  if (edgeError.code !== "Internal") return edgeError;
  logger.error({ err: edgeError.cause ?? edgeError, request_id: request.id }, "request failed");
  return new EdgeError("Internal", undefined, { request_id: request.id });
}

/** What a response says that was to be sent when the error came, such as one that could not be stored for its repetition. */
const OF_SUCCESS = ["Location", "Preference-Applied", "Deployment-Id"];

/** Removes the headers of another response, and sets `Retry-After` on the errors of which the table above says when to try again. */
export function setErrorHeaders({ code, details }: EdgeError, reply: FastifyReply): void {
  for (const name of OF_SUCCESS) void reply.removeHeader(name);
  const seconds = DEFAULT_RETRY_AFTER_S[code];
  if (seconds === undefined || reply.hasHeader("Retry-After")) return;
  void reply.header("Retry-After", Number(details?.["retry_after_s"] ?? seconds));
}

/** The error handler of every endpoint that responds with JSON. */
export function jsonErrorHandler(logger: Logger) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const shown = toPublicError(error, request, logger);
    setErrorHeaders(shown, reply);
    void reply.code(errorStatus(shown.code)).send(request.method === "HEAD" ? undefined : toErrorBody(shown));
  };
}
