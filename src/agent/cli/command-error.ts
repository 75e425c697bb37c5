import type { ExitCode } from "./exit-code.ts";

/** A command cannot do what it was asked. What to do about it, if anything, is in `hint`. */
export class CommandError extends Error {
  readonly exitCode: ExitCode;
  readonly hint: string | undefined;

  constructor(exitCode: ExitCode, message: string, hint?: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "Failure";
    this.exitCode = exitCode;
    this.hint = hint;
  }
}
