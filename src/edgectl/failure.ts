import { EXIT, type ExitCode } from "./exit-code.ts";

export interface FailureOptions {
  readonly exitCode: ExitCode;
  /** Code of the error table, where the service gave one. */
  readonly code?: string | undefined;
  /** What the person at the shell can do. */
  readonly hint?: string | undefined;
  /** Facts from the service, printed as they are but for control characters. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  readonly cause?: unknown;
}

/** A command's expected way to fail: what happened, why, and what to do. Anything else that is thrown is a defect. */
export class Failure extends Error {
  readonly exitCode: ExitCode;
  readonly code: string | undefined;
  readonly hint: string | undefined;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(message: string, options: FailureOptions) {
    super(message, { cause: options.cause });
    this.name = "Failure";
    this.exitCode = options.exitCode;
    this.code = options.code;
    this.hint = options.hint;
    this.details = options.details;
  }
}

/** The command line, or a file it names, is wrong. */
export function usageFailure(message: string, hint?: string): Failure {
  return new Failure(message, { exitCode: EXIT.usage, hint });
}
