import type { EngineErrorKind } from "../core/error-kind.ts";

/** An error of the container engine or the connection to it. The message is the engine's, without stack or address. */
export class EngineError extends Error {
  readonly kind: EngineErrorKind;
  /** Of kind `port_in_use`: number of the host port, where the engine names it. */
  readonly port: number | undefined;
  /** Of kind `mount_missing`: the path on the device, where the engine names it. */
  readonly path: string | undefined;

  constructor(
    kind: EngineErrorKind,
    message: string,
    options: ErrorOptions & { readonly port?: number; readonly path?: string } = {},
  ) {
    super(message, options);
    this.name = "EngineError";
    this.kind = kind;
    this.port = options.port;
    this.path = options.path;
  }
}
