/** Exit codes of edgectl. They are part of its interface: scripts branch on them. */
export const EXIT = {
  ok: 0,
  /** The service or the device refused, or the deployment ended in `Fail`. */
  failed: 1,
  /** The command line or a file it names is wrong; nothing was sent. */
  usage: 2,
  /** Not logged in, or the key was refused. */
  unauthorized: 3,
  /** No such asset, SIM, app or deployment. */
  notFound: 4,
  /** No usable answer from the server: network, TLS, proxy, or not the service at all. */
  unreachable: 5,
  /** Ctrl-C. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The table for the help text. */
export const EXIT_CODE_HELP = `Exit codes:
  0    done; for deploy and watch: the deployment ended in Success
  1    the operation failed; for deploy and watch: it ended in Fail
  2    wrong usage; nothing was sent
  3    not logged in, or the API key was refused
  4    no such asset, SIM, app or deployment
  5    the server could not be reached
  130  interrupted with Ctrl-C; a deployment goes on`;
