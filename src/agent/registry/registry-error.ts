/** What went wrong at a registry, as far as it changes what the agent does next. */
export type RegistryErrorKind =
  | "image_not_found"
  /** The registry refuses the image to these credentials, or wants some. */
  | "image_denied"
  /** The image has no variant for this machine. */
  | "wrong_platform"
  /** No answer, a broken connection or a server error; worth another try. */
  | "registry_unreachable"
  /** The registry asks for fewer requests; worth another try after `retryAfterMs`. */
  | "rate_limited"
  /** The connection cannot be trusted: certificate, or no TLS where it is wanted. */
  | "registry_untrusted"
  /** The registry leads where it may not: to a local address, out of TLS, or to a host that may not have its credentials. */
  | "refused_target"
  /** What came is not what its digest says. */
  | "wrong_content"
  /** The registry answers with something this client does not understand; an engine might. */
  | "unsupported";

export interface RegistryErrorOptions extends ErrorOptions {
  /** How long the registry wants to be left alone. */
  readonly retryAfterMs?: number | undefined;
}

/** An error of a registry or of the way to it. The message is for a person, and has no credentials in it. */
export class RegistryError extends Error {
  readonly kind: RegistryErrorKind;
  readonly retryAfterMs: number | undefined;

  constructor(kind: RegistryErrorKind, message: string, { retryAfterMs, ...options }: RegistryErrorOptions = {}) {
    super(message, options);
    this.name = "RegistryError";
    this.kind = kind;
    this.retryAfterMs = retryAfterMs;
  }
}
