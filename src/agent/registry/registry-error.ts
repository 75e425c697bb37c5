import type { RegistryErrorKind } from "../core/error-kind.ts";

export interface RegistryErrorOptions extends ErrorOptions {
  /** Delay before a retry as the registry requested it. */
  readonly retryAfterMs?: number | undefined;
  /** What to do about it. */
  readonly hint?: string | undefined;
  /** Bytes of a body that was refused before it was read. */
  readonly receivedBytes?: number | undefined;
}

/** An error of a registry or of the connection to it. The message is for people and contains no credentials. */
export class RegistryError extends Error {
  readonly kind: RegistryErrorKind;
  readonly retryAfterMs: number | undefined;
  readonly hint: string | undefined;
  readonly receivedBytes: number;

  constructor(kind: RegistryErrorKind, message: string, options: RegistryErrorOptions = {}) {
    const { retryAfterMs, hint, receivedBytes = 0 } = options;
    super(message, options);
    this.name = "RegistryError";
    this.kind = kind;
    this.retryAfterMs = retryAfterMs;
    this.hint = hint;
    this.receivedBytes = receivedBytes;
  }
}
