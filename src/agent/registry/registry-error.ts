import type { RegistryErrorKind } from "../core/error-kind.ts";

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
