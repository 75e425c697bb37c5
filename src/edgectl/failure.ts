/** Exit codes of edgectl. Part of its interface: scripts depend on them. */
export const EXIT = {
  ok: 0,
  /** The service or the device refused the request, or the deployment or rollout ended in `Fail`. */
  failed: 1,
  /** The command line or a file named on it is invalid; nothing was sent. */
  usage: 2,
  /** Not logged in, or the key was refused. */
  unauthorized: 3,
  /** No such asset, SIM, app, deployment, fleet or rollout. */
  notFound: 4,
  /** No usable response from the server: network, TLS or proxy error, or another service. */
  unreachable: 5,
  /** A rollout that is followed with `--exit-when-waiting` waits for people. */
  waiting: 6,
  /** Ctrl-C. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The exit codes for the help text. */
export const EXIT_CODE_HELP = `Exit codes:
  0    done; for deploy, apply and watch: the deployment ended in Success;
       for a rollout that is followed: it succeeded
  1    the operation failed; for deploy, apply and watch: it ended in Fail;
       for a rollout that is followed: it ended in any other way
  2    wrong usage; nothing was sent
  3    not logged in, or the API key was refused
  4    no such asset, SIM, app, deployment, fleet or rollout
  5    the server could not be reached
  6    with --exit-when-waiting: the rollout waits for people
  130  interrupted with Ctrl-C; a deployment or rollout goes on`;

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
