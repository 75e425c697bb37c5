import { registryHost } from "../../lib/registry/address.ts";
import type { RegistryAccess, RegistryErrors, RegistryProblem } from "../../lib/registry/problem.ts";
import { BodyTooLongError } from "../../lib/registry/read-body.ts";

/** Why the digest of a tag could not be found out. In `details.reason` of `ImageNotResolved`. */
export type FailureReason =
  | "denied"
  | "foreign_token_server"
  | "invalid_response"
  | "no_tls"
  | "not_found"
  | "private_address"
  | "rate_limited"
  | "timeout"
  | "too_many_redirects"
  | "unreachable";

/** A registry did not say the digest. The message contains neither credentials nor text of a server. */
export class ResolutionFailure extends Error {
  override readonly name = "ResolutionFailure";
  readonly reason: FailureReason;

  constructor(reason: FailureReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

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

/** The service's errors for the registry client. */
export const registryErrors: RegistryErrors = {
  problem: toProblemFailure,
  // Named by `toFailure`, which knows the reference.
  transfer: (error) => (error instanceof Error ? error : new Error("the response broke off", { cause: error })),
  response: async ({ status, url, body }) => {
    body.destroy();
    const message = `the token server ${url.host} responds with HTTP ${status}; try again later`;
    return new ResolutionFailure("unreachable", message);
  },
};

function toProblemFailure(problem: RegistryProblem): ResolutionFailure {
  switch (problem.kind) {
    case "token_refused":
    case "password_required":
    case "unknown_schemes":
    case "token_denied":
      return denied(problem.access);
    case "token_server_invalid":
      return invalid(`${registryHost(problem.access.registry)} names a token server that has no address`);
    case "token_server_without_tls": {
      const registry = registryHost(problem.access.registry);
      return new ResolutionFailure("no_tls", `${registry} names a token server without TLS: ${problem.host}`);
    }
    case "token_server_foreign": {
      const registry = registryHost(problem.access.registry);
      const message = `${registry} names the token server ${problem.host}, which registry_auth is not shown to; write the image with its digest`;
      return new ResolutionFailure("foreign_token_server", message);
    }
    case "no_token":
      return invalid(`the token server ${problem.host} returns no token`);
    case "redirect_not_http":
      return invalid(`${problem.host} redirects to an address that is not HTTP`);
    case "redirect_without_tls":
      return new ResolutionFailure("no_tls", `${problem.host} redirects to ${problem.target} without TLS`);
    case "too_many_redirects": {
      const message = `${problem.host} redirects more than ${problem.max} times; write the image with its digest`;
      return new ResolutionFailure("too_many_redirects", message);
    }
    case "foreign_answer":
      return invalid(`${problem.host} does not respond itself: a page came in its place; try again later`);
  }
}

export function denied({ registry, login }: RegistryAccess): ResolutionFailure {
  const host = registryHost(registry);
  const message = login
    ? `${host} refuses the credentials in registry_auth for this image; check them, and that they may pull it`
    : `${host} wants credentials for this image, or has no such image; send registry_auth, or check the name`;
  return new ResolutionFailure("denied", message);
}

function invalid(message: string): ResolutionFailure {
  return new ResolutionFailure("invalid_response", message);
}

function codeOf(error: unknown): string | undefined {
  const code = (error as { readonly code?: unknown } | null)?.code;
  return typeof code === "string" ? code : undefined;
}
