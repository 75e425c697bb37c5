import { z } from "zod";
import { parseJson } from "../../lib/parse-json.ts";
import { EXIT, type ExitCode, Failure } from "../failure.ts";
import { hintFor } from "../hints.ts";
import { anyObject } from "../../protocol/values/scalars.ts";

const errorBodySchema = z.object({
  code: z.string(),
  message: z.string(),
  details: anyObject.optional(),
});

const MAX_RETRY_AFTER_S = 3600;

/** The service responded with an error status. */
export class ServiceFailure extends Failure {
  readonly httpStatus: number;
  /** From `Retry-After`, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    options: {
      readonly httpStatus: number;
      readonly code?: string;
      readonly hint?: string | undefined;
      readonly details?: Readonly<Record<string, unknown>> | undefined;
      readonly retryAfterMs?: number | undefined;
    },
  ) {
    super(message, {
      exitCode: exitCodeFor(options.httpStatus, options.code),
      code: options.code,
      hint: options.hint,
      details: options.details,
    });
    this.httpStatus = options.httpStatus;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** Converts a response with an error status. @param body the response's whole text */
export function toServiceFailure(response: Response, body: string): ServiceFailure {
  const httpStatus = response.status;
  const retryAfterMs = parseRetryAfter(response.headers.get("retry-after"));
  const parsed = errorBodySchema.safeParse(parseJson(body, "response"));
  if (parsed.success) {
    const { code, message, details } = parsed.data;
    const wait = retryAfterMs === undefined ? undefined : `Wait ${Math.ceil(retryAfterMs / 1000)} s, then try again.`;
    return new ServiceFailure(message, {
      httpStatus,
      code,
      details,
      hint: wait ?? hintFor(code, details),
      retryAfterMs,
    });
  }
  const location = response.headers.get("location");
  if (httpStatus >= 300 && httpStatus < 400) {
    return new ServiceFailure(`The server redirects the request (HTTP ${httpStatus}).`, {
      httpStatus,
      hint: location === null ? undefined : `If you trust the new address, log in there: ${location}`,
    });
  }
  return new ServiceFailure(`The server responded with HTTP ${httpStatus}, but not as this service does.`, {
    httpStatus,
    hint: "Check the address (--url), and whether a proxy on the way answers instead of the service.",
    retryAfterMs,
  });
}

function exitCodeFor(httpStatus: number, code: string | undefined): ExitCode {
  // The key is accepted, and may approve others' rollouts.
  if (code === "ApprovalBySameUser") return EXIT.failed;
  if (httpStatus === 401 || httpStatus === 403) return EXIT.unauthorized;
  if (httpStatus === 404) return EXIT.notFound;
  // From a proxy that cannot reach the service.
  return httpStatus === 504 ? EXIT.unreachable : EXIT.failed;
}

/** Parses a `Retry-After` header in seconds. @returns milliseconds */
function parseRetryAfter(value: string | null): number | undefined {
  if (value === null || !/^\d{1,9}$/.test(value.trim())) return undefined;
  return Math.min(Number(value), MAX_RETRY_AFTER_S) * 1000;
}
