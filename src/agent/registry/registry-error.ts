/** Kind of a registry's error; decides what the agent does next. */
export type RegistryErrorKind =
  | "image_not_found"
  /** The registry denies access with these credentials, or requires some. */
  | "image_denied"
  /** The image has no variant for this machine. */
  | "wrong_platform"
  /** No response, a broken connection or a server error; can be retried. */
  | "registry_unreachable"
  /** Too many requests; can be retried after `retryAfterMs`. */
  | "rate_limited"
  /** The certificate is not trusted, or TLS is required and not supported. */
  | "registry_untrusted"
  /** The registry leads to a forbidden target: a local address, plain HTTP, or a host that must not get its credentials. */
  | "refused_target"
  /** The content does not match its digest. */
  | "wrong_content"
  /** The response is not supported by this client; the engine may support it. */
  | "unsupported";

export interface RegistryErrorOptions extends ErrorOptions {
  /** Delay before a retry as the registry requested it. */
  readonly retryAfterMs?: number | undefined;
}

/** An error of a registry or of the connection to it. The message is for people and contains no credentials. */
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
