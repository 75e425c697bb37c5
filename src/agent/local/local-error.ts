/** An error response of the local API. The message is shown to the user. */
export class LocalError extends Error {
  /** HTTP status. */
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.name = "LocalError";
    this.status = status;
    this.code = code;
  }
}
