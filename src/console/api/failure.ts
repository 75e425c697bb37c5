import type { ErrorCode } from "../../protocol/errors/errors.ts";

/** Codes of failures that the service did not send. */
export type FailureCode = ErrorCode | "Unreachable" | "BadResponse";

/** A request that did not succeed: refused by the service, or not answered. */
export class ApiFailure extends Error {
  readonly code: string;
  /** HTTP status; 0 without a response. */
  readonly status: number;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(code: string, message: string, status: number, details?: Readonly<Record<string, unknown>>) {
    super(message);
    this.name = "Failure";
    this.code = code;
    this.status = status;
    this.details = details;
  }

  /** Whether the service cannot be reached at all, as while it restarts. */
  get isUnreachable(): boolean {
    return this.code === ("Unreachable" satisfies FailureCode) || (this.status >= 502 && this.status <= 504);
  }
}

/** Converts a thrown value. */
export function toFailure(error: unknown): ApiFailure {
  if (error instanceof ApiFailure) return error;
  return new ApiFailure("BadResponse", error instanceof Error ? error.message : String(error), 0);
}

/**
 * Reads the failure that a response consists of: JSON, or one event of a stream where a deployment is refused. A proxy may
 * respond with something else.
 */
export async function readFailure(response: Response): Promise<ApiFailure> {
  const { status, statusText } = response;
  // The status says enough.
  const text = await response.text().catch(() => "");
  const body = parseJson(EVENT.exec(text)?.[1] ?? text);
  if (isErrorBody(body)) return new ApiFailure(body.code, body.message, status, body.details);
  const said = `The server responded with ${status}${statusText ? ` ${statusText}` : ""} and no message.`;
  return new ApiFailure("BadResponse", said, status);
}

/** The first event of a stream. */
const EVENT = /^data:(.*)$/m;

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

interface ErrorBody {
  readonly code: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

function isErrorBody(body: unknown): body is ErrorBody {
  return typeof body === "object" && body !== null && "code" in body && "message" in body;
}
