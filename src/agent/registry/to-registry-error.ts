import { z } from "zod";
import type { Clock } from "../../lib/clock.ts";
import { maskSecrets } from "../../lib/redact.ts";
import { explainNetworkError } from "../core/net/network-error.ts";
import { parseRetryAfter } from "../core/net/retry-after.ts";
import { BodyTooLongError, readBody } from "./read-body.ts";
import type { RegistryErrorKind } from "../core/error-kind.ts";
import { RegistryError } from "./registry-error.ts";
import type { RegistryHttpResponse } from "./transport.ts";

/** Longest error text that is read. */
const MAX_ERROR_BYTES = 65_536;
const MAX_REASON_LENGTH = 200;

const errorBody = z.object({
  errors: z.array(z.object({ code: z.string(), message: z.string().optional() })).min(1),
});

/** The error of a connection that could not be made, or broke. Errors that have a kind already stay as they are. */
export function toRegistryError(error: unknown, host: string, clock: Clock): RegistryError {
  if (error instanceof RegistryError) return error;
  if (error instanceof BodyTooLongError) {
    return new RegistryError("unsupported", `${host} sent a longer answer than such an answer may be`, {
      cause: error,
    });
  }
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code === "string" && speaksNoTls(code)) {
    const reason = `${host} does not speak TLS; a registry without it must be listed in the configuration as insecure`;
    return new RegistryError("registry_untrusted", reason, { cause: error });
  }
  const isTrust = typeof code === "string" && /CERT|^ERR_TLS|SELF_SIGNED|UNABLE_TO|^ERR_SSL/.test(code);
  const reason = `${host}: ${explainNetworkError(error, clock.now())}`;
  return new RegistryError(isTrust ? "registry_untrusted" : "registry_unreachable", reason, { cause: error });
}

/** Whether the other side answered the handshake with something else. */
export function speaksNoTls(code: string): boolean {
  return code === "EPROTO" || code === "ERR_SSL_WRONG_VERSION_NUMBER" || code === "ERR_SSL_PACKET_LENGTH_TOO_LONG";
}

/**
 * What a registry's answer means that is not the one hoped for. Reads the body. Never rejects.
 *
 * @param secrets what the server was shown, and may repeat
 */
export async function toResponseError(
  answer: RegistryHttpResponse,
  clock: Clock,
  secrets: readonly string[] = [],
): Promise<RegistryError> {
  const text = await readErrorText(answer, clock, secrets);
  const { status, headers, url } = answer;
  const retryAfterMs = parseRetryAfter(headers["retry-after"], headers.date, clock.now());
  const message = `${url.host} answered with HTTP ${status}${text === "" ? "" : ` (${text})`}`;
  return new RegistryError(kindOfStatus(status), message, { retryAfterMs });
}

function kindOfStatus(status: number): RegistryErrorKind {
  if (status === 401 || status === 403) return "image_denied";
  if (status === 404) return "image_not_found";
  if (status === 429) return "rate_limited";
  // The blob ends before the byte it was to go on from.
  if (status === 416) return "wrong_content";
  return status === 408 || status >= 500 ? "registry_unreachable" : "unsupported";
}

async function readErrorText(
  { body }: RegistryHttpResponse,
  clock: Clock,
  secrets: readonly string[],
): Promise<string> {
  try {
    const bytes = await readBody(body, { clock, maxBytes: MAX_ERROR_BYTES, stallMs: 5_000 });
    const { errors } = errorBody.parse(JSON.parse(new TextDecoder().decode(bytes)));
    const { code = "", message = "" } = errors[0] ?? {};
    const said = maskSecrets(`${code}${message === "" ? "" : `: ${message}`}`, secrets);
    return said.replaceAll(/[^\P{C}]+/gu, " ").slice(0, MAX_REASON_LENGTH);
  } catch {
    // A page of a proxy, or nothing: the status says enough.
    return "";
  }
}
