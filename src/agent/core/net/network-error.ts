/** In `MEANING`, replaced by the setting that applies. */
const CA_SETTING = "extra_ca_file";
const CLOCK = Symbol("depends on the device's clock");

const MEANING: Readonly<Record<string, string | typeof CLOCK>> = {
  ECONNREFUSED: "nothing listens at that address and port (connection refused)",
  ECONNRESET: "the connection was reset",
  EPIPE: "the connection was cut while sending",
  ETIMEDOUT: "no answer from that address (timed out)",
  EHOSTUNREACH: "the host cannot be reached (no route to host)",
  ENETUNREACH: "no network (network is unreachable)",
  ENETDOWN: "no network (network is down)",
  EADDRNOTAVAIL: "no network (no usable address of its own)",
  ENOTFOUND: "the host name does not exist, or there is no network to ask",
  EAI_AGAIN: "the host name could not be looked up (no answer from the name servers)",
  EPROTO: "the other side does not speak TLS as expected: check whether the address wants ws:// or another port",
  ERR_SSL_WRONG_VERSION_NUMBER: "the other side does not speak TLS: check the port of the address",
  ERR_SSL_PACKET_LENGTH_TOO_LONG: "the other side does not speak TLS: check the port of the address",
  ERR_TLS_CERT_ALTNAME_INVALID: "the certificate is for another host name",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the certificate is self-signed: set extra_ca_file to the authority to trust",
  SELF_SIGNED_CERT_IN_CHAIN: "the certificate comes from an authority that is not trusted: set extra_ca_file to it",
  UNABLE_TO_GET_ISSUER_CERT: "the certificate comes from an authority that is not known: set extra_ca_file to it",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    "the certificate comes from an authority that is not known: set extra_ca_file to it",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    "the certificate cannot be verified (authority not known, or the server sends an incomplete chain): set extra_ca_file to the authority to trust",
  CERT_SIGNATURE_FAILURE: "the signature of the certificate is not valid",
  CERT_REVOKED: "the certificate was revoked",
  CERT_HAS_EXPIRED: CLOCK,
  CERT_NOT_YET_VALID: CLOCK,
};

const REMOTE_FAILURE_CODES: ReadonlySet<string> = new Set(["ECONNREFUSED", "ECONNRESET", "EPIPE"]);

/** Whether the other side closed or refused the connection, rather than the device's own line having failed. */
export function isRemoteFailure(error: unknown): boolean {
  const { code } = describe(error);
  return code !== undefined && REMOTE_FAILURE_CODES.has(code);
}

/**
 * Describes a network or TLS error so that a technician can act on it. Known errors are described by their code; of
 * others the message is used, shortened and without control characters.
 *
 * @param nowMs the device's time of day: a wrong one is the usual cause of a certificate that is not valid
 * @param caSetting the setting in which to name an authority to trust
 */
export function explainNetworkError(error: unknown, nowMs: number, caSetting = CA_SETTING): string {
  const { code, message } = describe(error);
  const meaning = code === undefined ? undefined : MEANING[code];
  if (meaning === CLOCK) {
    const state = code === "CERT_HAS_EXPIRED" ? "has expired" : "is not valid yet";
    return `the certificate ${state}, by this device's clock (${new Date(nowMs).toISOString().slice(0, 16)}Z): check the clock first`;
  }
  if (typeof meaning === "string") return meaning.replace(CA_SETTING, caSetting);
  const text = sanitizeMessage(message);
  return code === undefined || text.includes(code) ? text : `${text} (${code})`;
}

function describe(error: unknown): { code: string | undefined; message: string } {
  if (typeof error !== "object" || error === null) return { code: undefined, message: "unknown error" };
  const { code, message } = error as { code?: unknown; message?: unknown };
  return {
    code: typeof code === "string" ? code : undefined,
    message: typeof message === "string" && message !== "" ? message : "unknown error",
  };
}

function sanitizeMessage(text: string): string {
  return text.replaceAll(/[^\P{C}]+/gu, " ").slice(0, 200);
}
