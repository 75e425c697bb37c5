import { z } from "zod";
import type { Clock } from "../../lib/clock.ts";
import { maskSecrets } from "../../lib/redact.ts";
import { explainNetworkError } from "../core/net/network-error.ts";
import { parseRetryAfter } from "../../lib/retry-after.ts";
import { BodyTooLongError, readBody } from "../../lib/registry/read-body.ts";
import { parseBoundedJson } from "../../protocol/values/bounded-json.ts";
import type { RegistryErrorKind } from "../core/error-kind.ts";
import { pageInstead } from "../../lib/registry/foreign-answer.ts";
import type { RegistryResponse } from "../../lib/registry/http.ts";
import { loginSecrets } from "../../lib/registry/login.ts";
import type { RegistryErrors, RegistryProblem } from "../../lib/registry/problem.ts";
import { RegistryError } from "./registry-error.ts";

/** Maximum size of an error body that is read. */
const MAX_ERROR_BYTES = 65_536;
const MAX_REASON_LENGTH = 200;

const errorBody = z.object({
  errors: z
    .array(z.object({ code: z.string(), message: z.string().optional() }))
    .min(1)
    .max(100),
});

/** Returns the agent's errors for the registry client. */
export function registryErrors(clock: Clock): RegistryErrors {
  return {
    problem: toProblemError,
    transfer: (error, host) => toRegistryError(error, host, clock),
    response: (response, { login }) => toResponseError(response, clock, loginSecrets(login)),
  };
}

/** Converts what the registry client does not accept. */
export function toProblemError(problem: RegistryProblem): RegistryError {
  switch (problem.kind) {
    case "token_refused":
      return denied(`${problem.access.registry} refuses the token it was shown`);
    case "password_required":
      return denied(`${problem.access.registry} wants a user name and a password, and none are known for it`);
    case "unknown_schemes":
      return unsupported(`${problem.access.registry} wants to be authenticated to with ${problem.offered}`);
    case "token_server_invalid":
      return unsupported(`${problem.access.registry} names a token server that has no address`);
    case "token_server_without_tls":
      return refusedTarget(`${problem.access.registry} names a token server without TLS: ${problem.host}`);
    case "token_server_foreign": {
      const { access, host } = problem;
      const next = `where that is right, list ${host} in auth_hosts of its entry in registries`;
      return refusedTarget(
        `${access.registry} names a token server that its credentials are not shown to: ${host}; ${next}`,
      );
    }
    case "token_denied": {
      const { access, host, status } = problem;
      return access.login
        ? denied(`${host} refuses the user name, password or token for ${access.registry} (HTTP ${status})`)
        : denied(`${access.registry} wants credentials, and none are known for it (HTTP ${status})`);
    }
    case "no_token":
      return unsupported(`the token server ${problem.host} returned no token`);
    case "redirect_not_http":
      return unsupported(`${problem.host} redirects to an address that is not HTTP`);
    case "redirect_without_tls":
      return refusedTarget(`${problem.host} redirects to ${problem.target} without TLS`);
    case "too_many_redirects":
      return unsupported(`${problem.host} redirects more than ${problem.max} times`);
    case "foreign_answer": {
      const { host, reason, receivedBytes } = problem;
      return new RegistryError("foreign_answer", `${host}: ${reason}`, { receivedBytes });
    }
  }
}

function denied(message: string): RegistryError {
  return new RegistryError("image_denied", message);
}

function unsupported(message: string): RegistryError {
  return new RegistryError("unsupported", message);
}

function refusedTarget(message: string): RegistryError {
  return new RegistryError("refused_target", message);
}

/** Converts a connection error. Returns a `RegistryError` unchanged. */
export function toRegistryError(error: unknown, host: string, clock: Clock): RegistryError {
  if (error instanceof RegistryError) return error;
  if (error instanceof BodyTooLongError) {
    return new RegistryError("unsupported", `${host} sent a response longer than allowed`, {
      cause: error,
    });
  }
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code === "string" && speaksNoTls(code)) {
    const reason = `${host} does not speak TLS; a registry without it must be listed in the configuration as insecure`;
    return new RegistryError("registry_untrusted", reason, { cause: error });
  }
  const isTrust = typeof code === "string" && /CERT|^ERR_TLS|SELF_SIGNED|UNABLE_TO|^ERR_SSL/.test(code);
  const reason = `${host}: ${explainNetworkError(error, clock.timeOfDay(), "ca_file of the registry")}`;
  return new RegistryError(isTrust ? "registry_untrusted" : "registry_unreachable", reason, { cause: error });
}

/** Whether the TLS handshake failed because the other side does not speak TLS. */
export function speaksNoTls(code: string): boolean {
  return code === "EPROTO" || code === "ERR_SSL_WRONG_VERSION_NUMBER" || code === "ERR_SSL_PACKET_LENGTH_TOO_LONG";
}

/**
 * Converts an error response. Reads its body. Never rejects.
 *
 * @param secrets sent to the server, masked in its text
 */
export async function toResponseError(
  response: RegistryResponse,
  clock: Clock,
  secrets: readonly string[] = [],
): Promise<RegistryError> {
  const page = pageInstead(response);
  if (page) return toProblemError(page);
  const text = await readErrorText(response, clock, secrets);
  const { status, headers, url } = response;
  const retryAfterMs = parseRetryAfter(headers["retry-after"], headers.date, clock.timeOfDay());
  const message = `${url.host} answered with HTTP ${status}${text === "" ? "" : ` (${text})`}`;
  return new RegistryError(kindOfStatus(status), message, { retryAfterMs });
}

function kindOfStatus(status: number): RegistryErrorKind {
  if (status === 401 || status === 403) return "image_denied";
  if (status === 404) return "image_not_found";
  if (status === 429) return "rate_limited";
  // The blob is shorter than the requested offset.
  if (status === 416) return "wrong_content";
  return status === 408 || status >= 500 ? "registry_unreachable" : "unsupported";
}

async function readErrorText({ body }: RegistryResponse, clock: Clock, secrets: readonly string[]): Promise<string> {
  try {
    const bytes = await readBody(body, { clock, maxBytes: MAX_ERROR_BYTES, stallMs: 5_000 });
    const { errors } = errorBody.parse(parseBoundedJson(bytes, "short"));
    const { code = "", message = "" } = errors[0] ?? {};
    const reason = maskSecrets(`${code}${message === "" ? "" : `: ${message}`}`, secrets);
    return reason.replaceAll(/[^\P{C}]+/gu, " ").slice(0, MAX_REASON_LENGTH);
  } catch {
    // Not a registry's error body, such as a proxy's page: the status must do.
    return "";
  }
}
