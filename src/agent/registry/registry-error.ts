import type { RegistryErrorKind } from "../core/error-kind.ts";

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
