import { BodyTooLongError } from "../../../lib/registry/read-body.ts";
import { ResolutionFailure } from "./resolution-failure.ts";

const NO_TLS = new Set([
  "EPROTO",
  "ERR_SSL_WRONG_VERSION_NUMBER",
  "ERR_SSL_PACKET_LENGTH_TOO_LONG",
  // Some servers close the connection, and one on port 80 does not listen on port 443.
  "ECONNRESET",
  "ECONNREFUSED",
]);

/** Whether a request with TLS failed as it does if the other side does not speak TLS. */
export function maySpeakNoTls(error: unknown): boolean {
  return NO_TLS.has(codeOf(error) ?? "");
}

/** Converts the error of a request. Texts of the system are left out: they contain addresses. */
export function toFailure(error: unknown, reference: string): ResolutionFailure {
  if (error instanceof ResolutionFailure) return error;
  const next = "try again later, or write the image with its digest";
  if (error instanceof DOMException && error.name === "TimeoutError")
    return new ResolutionFailure("timeout", `its registry did not respond in time; ${next}`);
  if (error instanceof BodyTooLongError)
    return new ResolutionFailure("invalid_response", "its registry sends too much; write the image with its digest");
  const code = codeOf(error);
  if (code === "ERR_INVALID_CHAR")
    return new ResolutionFailure("denied", "registry_auth has characters that a request cannot have; check it");
  // Not an error of a connection.
  if (code === undefined) throw error;
  const isUnknown = code === "ENOTFOUND" || code === "EAI_NONAME";
  const what = isUnknown
    ? `there is no such host; check ${reference}`
    : `its registry cannot be reached (${code}); ${next}`;
  return new ResolutionFailure("unreachable", what);
}

function codeOf(error: unknown): string | undefined {
  const code = (error as { readonly code?: unknown } | null)?.code;
  return typeof code === "string" ? code : undefined;
}
