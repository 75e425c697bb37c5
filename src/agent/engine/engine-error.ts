/** What went wrong, as far as it changes what the agent does next. */
export type EngineErrorKind =
  /** Nothing listens on the socket, it may not be opened, or the connection broke. */
  | "unavailable"
  /** The engine took the call and did not answer in time. */
  | "timeout"
  | "image_not_found"
  /** The registry refuses the image to these credentials. */
  | "image_denied"
  /** The image has no variant for this machine. */
  | "wrong_platform"
  /** The registry did not answer, broke off or answered with a server error; worth another try. */
  | "registry_unreachable"
  /** The engine kept wrong bytes of a layer from an earlier pull and resumes after them. */
  | "corrupt_layer"
  | "no_space"
  | "port_in_use"
  /** The name is taken, or the object is in a state that does not allow the call. */
  | "conflict"
  | "not_found"
  /** The engine refuses the request as it is: trying again changes nothing. */
  | "invalid"
  | "unknown";

/** An error of the container engine or of the way to it. The message is the engine's own, without stack or address. */
export class EngineError extends Error {
  readonly kind: EngineErrorKind;
  /** Of kind `port_in_use`: number of the host port, where the engine names it. */
  readonly port: number | undefined;

  constructor(kind: EngineErrorKind, message: string, options: ErrorOptions & { readonly port?: number } = {}) {
    super(message, options);
    this.name = "EngineError";
    this.kind = kind;
    this.port = options.port;
  }
}
