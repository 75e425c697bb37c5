import { MAX_WAIT_MS } from "../wait-for.ts";
import { type RunningCommand, start } from "../command.ts";

/** One line of a program's log. */
export type LogLine = Readonly<Record<string, unknown>> & { readonly msg: string };

interface ExecutableOptions {
  readonly path: string;
  /** Called at each start, so that a restart may use other values. */
  readonly args: () => readonly string[];
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Whether a log line shows that the program is ready. */
  readonly isReady: (line: LogLine) => boolean;
}

const TAIL_LINES = 40;

/** An executable of this project as a real process that can be stopped, killed and restarted. */
export class Executable implements AsyncDisposable {
  readonly #options: ExecutableOptions;
  /** Every run so far; the last one is current. */
  readonly #runs: RunningCommand[] = [];
  #running = false;

  constructor(options: ExecutableOptions) {
    this.#options = options;
  }

  /** Process id of the current run. Throws if it does not run. */
  get pid(): number {
    return this.#current.pid;
  }

  get isRunning(): boolean {
    return this.#running;
  }

  /** Starts it without waiting until it is ready. */
  launch(): void {
    if (this.#running) throw new Error(`${this.#options.path} is already running`);
    const run = start(this.#options.path, this.#options.args(), {
      ...(this.#options.env && { env: this.#options.env }),
    });
    this.#runs.push(run);
    this.#running = true;
    void run.exited.finally(() => {
      if (this.#runs.at(-1) === run) this.#running = false;
    });
  }

  /** Starts it and waits until it is ready. Returns the log line that shows it. */
  async start(): Promise<LogLine> {
    this.launch();
    return this.waitForLog("ready", this.#options.isReady);
  }

  /** Sends a signal, such as SIGSTOP, without waiting. */
  signal(name: NodeJS.Signals): void {
    this.#current.kill(name);
  }

  /** Kills it with SIGKILL and waits for its exit. */
  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.exited();
  }

  /** Stops it with SIGTERM. Returns its exit code; `null` if a signal ended it. */
  async stop(): Promise<number | null> {
    this.signal("SIGTERM");
    return this.exited();
  }

  /** Resolves to the current run's exit code; `null` if a signal ended it. */
  exited(): Promise<number | null> {
    return this.#current.exited;
  }

  /** Stdout and stderr of all runs. */
  output(): string {
    return this.#runs.map((run) => run.stdout() + run.stderr()).join("");
  }

  /** Log lines of the current run. */
  log(): LogLine[] {
    return parseLog(this.#current.stdout());
  }

  /** Waits for a log line of the current run and returns it. Rejects as soon as the program ends without it. */
  async waitForLog(what: string, fits: (line: LogLine) => boolean, timeoutMs = MAX_WAIT_MS): Promise<LogLine> {
    await this.#current.waitUntil(what, () => this.log().some(fits), timeoutMs);
    return this.log().find(fits) as LogLine;
  }

  /** The last lines of its output, to diagnose a failed test. */
  tail(): string {
    return this.output().trimEnd().split("\n").slice(-TAIL_LINES).join("\n");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const run of this.#runs) await run[Symbol.asyncDispose]();
  }

  get #current(): RunningCommand {
    const run = this.#runs.at(-1);
    if (!run) throw new Error(`${this.#options.path} was not started`);
    return run;
  }
}

function parseLog(text: string): LogLine[] {
  const complete = text.slice(0, text.lastIndexOf("\n") + 1);
  return complete.split("\n").flatMap((line) => (line.startsWith("{") ? [JSON.parse(line) as LogLine] : []));
}
