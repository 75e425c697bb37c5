import type { EngineErrorKind } from "../core/error-kind.ts";

/** An error of the container engine or the connection to it. The message is the engine's, without stack or address. */
export class EngineError extends Error {
  readonly kind: EngineErrorKind;

  constructor(kind: EngineErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "EngineError";
    this.kind = kind;
  }
}
