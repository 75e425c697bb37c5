/** An answer other than the one asked for. The message is for the person at the terminal. */
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
