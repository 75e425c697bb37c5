import { EXIT, type ExitCode } from "./exit-code.ts";

export interface FailureOptions {
  readonly exitCode: ExitCode;
  /** Code of the error table, if the service sent one. */
  readonly code?: string | undefined;
  /** What the user can do. */
  readonly hint?: string | undefined;
  /** Details from the service, printed with control characters escaped. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  readonly cause?: unknown;
}

/** An expected failure: what happened, why, and what to do. Any other exception is a defect. */
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

/** Ends edgectl with an exit code, such as that of a command in an app. Nothing more is printed. */
export class SilentExit extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`exit code ${exitCode}`);
    this.name = "SilentExit";
    this.exitCode = exitCode;
  }
}

/** A failure for an invalid command line, or an invalid file named on it. */
export function usageFailure(message: string, hint?: string): Failure {
  return new Failure(message, { exitCode: EXIT.usage, hint });
}
