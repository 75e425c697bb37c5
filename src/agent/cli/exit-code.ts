/** Exit codes of the interactive commands. Part of the interface: scripts depend on them. */
export const EXIT = {
  ok: 0,
  /** Something on the device is wrong, or the deployment failed. */
  wrong: 1,
  /** Invalid command line, configuration or other file. */
  usage: 2,
  /** The daemon is not running, or hangs. */
  down: 3,
  /** No app has this name. */
  notFound: 4,
  /** No permission to use the agent's socket. */
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
  3    the agent is not running, or hangs
  4    no app of that name
  5    no permission to use the agent's socket
  130  interrupted with Ctrl-C`;

/** A command failed. `hint` says what to do about it. */
export class CommandError extends Error {
  readonly exitCode: ExitCode;
  readonly hint: string | undefined;

  constructor(exitCode: ExitCode, message: string, hint?: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "CommandError";
    this.exitCode = exitCode;
    this.hint = hint;
  }
}
