/** Exit codes of the commands for people. They are part of the interface: scripts branch on them. */
export const EXIT = {
  ok: 0,
  /** Something on the device is not as it should be, or the deployment failed. */
  wrong: 1,
  /** The command line, or the configuration or another file it names, cannot be used. */
  usage: 2,
  /** The daemon does not run. */
  down: 3,
  /** There is no app of that name. */
  notFound: 4,
  /** This user may not use the agent's socket. */
  forbidden: 5,
  /** Ctrl-C. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The table for the help text. */
export const EXIT_CODE_HELP = `Exit codes:
  0    all is well; for deploy: the app runs
  1    something is wrong on the device; for deploy: it failed
  2    wrong usage, or an unusable configuration
  3    the agent is not running
  4    no app of that name
  5    no permission to use the agent's socket
  130  interrupted with Ctrl-C`;

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
