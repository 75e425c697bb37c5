import { EXIT, Failure } from "../failure.ts";
import { ServiceFailure } from "./service-failure.ts";

interface Explanation {
  readonly reason: string;
  readonly hint: string;
  /** The connection was established, so the server may have received the request. */
  readonly mayHaveBeenSent?: true;
}

const CERTIFICATE_HINT =
  "If the server uses a certificate of your own authority, name that authority's file in NODE_EXTRA_CA_CERTS.";

const DEFAULT_HINT = "Check the network between here and the server, then try again.";

const EXPLANATIONS: Readonly<Record<string, Explanation>> = {
  ECONNRESET: { reason: "the connection was reset", hint: DEFAULT_HINT, mayHaveBeenSent: true },
  UND_ERR_SOCKET: { reason: "the connection was closed", hint: DEFAULT_HINT, mayHaveBeenSent: true },
  ECONNREFUSED: { reason: "nothing listens there", hint: "Check the address and port, and that the server runs." },
  ENOTFOUND: { reason: "the host name is unknown", hint: "Check the address (--url) and this machine's DNS." },
  EAI_AGAIN: { reason: "the host name could not be looked up", hint: "Check this machine's network and DNS." },
  EHOSTUNREACH: { reason: "there is no route to the host", hint: "Check this machine's network, VPN or firewall." },
  ENETUNREACH: { reason: "there is no network", hint: "Check this machine's network." },
  ETIMEDOUT: { reason: "the host does not answer", hint: "Check the address, and VPN or firewall on the way." },
  UND_ERR_CONNECT_TIMEOUT: {
    reason: "the host does not answer",
    hint: "Check the address, and VPN or firewall on the way.",
  },
  DEPTH_ZERO_SELF_SIGNED_CERT: { reason: "its certificate is self-signed", hint: CERTIFICATE_HINT },
  SELF_SIGNED_CERT_IN_CHAIN: { reason: "its certificate's authority is not trusted", hint: CERTIFICATE_HINT },
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: { reason: "its certificate's authority is not trusted", hint: CERTIFICATE_HINT },
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: { reason: "its certificate's authority is not trusted", hint: CERTIFICATE_HINT },
  CERT_HAS_EXPIRED: {
    reason: "its certificate has expired",
    hint: "Check this machine's clock; else renew the certificate.",
  },
  ERR_TLS_CERT_ALTNAME_INVALID: { reason: "its certificate is for another name", hint: "Check the address (--url)." },
  ERR_SSL_WRONG_VERSION_NUMBER: { reason: "it does not speak TLS there", hint: "Try http:// instead of https://." },
  ERR_SSL_PACKET_LENGTH_TOO_LONG: { reason: "it does not speak TLS there", hint: "Try http:// instead of https://." },
};

/** No usable response: exit code 5. */
export class NetworkFailure extends Failure {
  /** A short phrase without a full stop. */
  readonly reason: string;
  /** Whether the server may still have received the request. */
  readonly mayHaveBeenSent: boolean;

  constructor(baseUrl: string, why: string, options: { hint?: string; maybeSent: boolean; cause?: unknown }) {
    super(`${baseUrl} could not be reached: ${why}.`, {
      exitCode: EXIT.unreachable,
      hint: options.hint ?? DEFAULT_HINT,
      cause: options.cause,
    });
    this.reason = why;
    this.mayHaveBeenSent = options.maybeSent;
  }
}

/** Converts an error from `fetch`, or from reading a response. */
export function toNetworkFailure(baseUrl: string, error: unknown): NetworkFailure {
  const code = findCode(error);
  if (code === undefined && isTimeout(error)) {
    return new NetworkFailure(baseUrl, "it did not answer in time", { maybeSent: true, cause: error });
  }
  const known = code === undefined ? undefined : EXPLANATIONS[code];
  if (known) {
    return new NetworkFailure(baseUrl, known.reason, {
      hint: known.hint,
      maybeSent: known.mayHaveBeenSent ?? false,
      cause: error,
    });
  }
  if (isBlockedPort(error)) {
    return new NetworkFailure(baseUrl, "HTTP clients refuse this port", {
      hint: "Use another port.",
      maybeSent: false,
    });
  }
  const why = code === undefined ? "the connection broke" : `the connection broke (${code})`;
  return new NetworkFailure(baseUrl, why, { maybeSent: true, cause: error });
}

// The fetch standard blocks ports of other protocols. Node reports this by message, without a code.
function isBlockedPort(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof Error && error.cause.message === "bad port";
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === "TimeoutError";
}

// The code is on the cause of fetch's error, or on the first of several errors when a name has several addresses.
function findCode(error: unknown, depth = 0): string | undefined {
  if (typeof error !== "object" || error === null || depth > 4) return undefined;
  const { code, cause, errors } = error as { code?: unknown; cause?: unknown; errors?: unknown };
  if (typeof code === "string") return code;
  return findCode(cause, depth + 1) ?? (Array.isArray(errors) ? findCode(errors[0], depth + 1) : undefined);
}

/** HTTP status with which a service asks for fewer requests. */
const TOO_MANY_REQUESTS = 429;

/**
 * Whether the same request may succeed later: the connection is lost, or the service or a proxy before it is busy, restarting
 * or failing. A refusal is final.
 */
export function isPassing(error: unknown): error is NetworkFailure | ServiceFailure {
  if (error instanceof NetworkFailure) return true;
  return error instanceof ServiceFailure && (error.httpStatus === TOO_MANY_REQUESTS || error.httpStatus >= 500);
}

/** Returns how long the service has asked to wait, in milliseconds. */
export function askedPauseMs(error: unknown): number {
  return error instanceof ServiceFailure ? (error.retryAfterMs ?? 0) : 0;
}
