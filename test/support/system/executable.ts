import { MAX_WAIT_MS } from "../wait-for.ts";
import { type RunningCommand, start } from "../command.ts";

/** One line of a program's log. */
export type LogLine = Readonly<Record<string, unknown>> & { readonly msg: string };

interface ExecutableOptions {
  readonly path: string;
  /** Asked for at each start, so that a restart may differ from the run before. */
  readonly args: () => readonly string[];
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Whether the program is ready, by a line of its log. */
  readonly isReady: (line: LogLine) => boolean;
}

const TAIL_LINES = 40;

/** An executable of this project as a real process, which may be stopped, killed and started again. */
export class Executable implements AsyncDisposable {
  readonly #options: ExecutableOptions;
  /** Every run so far; the last one is the current one. */
  readonly #runs: RunningCommand[] = [];
  #running = false;

  constructor(options: ExecutableOptions) {
    this.#options = options;
  }

  /** Process id of the current run. Fails while there is none. */
  get pid(): number {
    return this.#current.pid;
  }

  get isRunning(): boolean {
    return this.#running;
  }

  /** Starts it without waiting for anything. */
  launch(): void {
    if (this.#running) throw new Error(`${this.#options.path} runs already`);
    const run = start(this.#options.path, this.#options.args(), {
      ...(this.#options.env && { env: this.#options.env }),
    });
    this.#runs.push(run);
    this.#running = true;
    void run.exited.finally(() => {
      if (this.#runs.at(-1) === run) this.#running = false;
    });
  }

  /** Starts it and waits until it is ready. Answers the line that says so. */
  async start(): Promise<LogLine> {
    this.launch();
    return this.waitForLog("ready", this.#options.isReady);
  }

  /** Sends any signal, such as SIGSTOP and SIGCONT, and waits for nothing. */
  signal(name: NodeJS.Signals): void {
    this.#current.kill(name);
  }

  /** Ends it as a loss of power does, and waits until it is gone. */
  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.exited();
  }

  /** Asks it to end. Answers its exit code, `null` where a signal ended it. */
  async stop(): Promise<number | null> {
    this.signal("SIGTERM");
    return this.exited();
  }

  /** Exit code of the current run once it has ended; `null` where a signal ended it. */
  exited(): Promise<number | null> {
    return this.#current.exited;
  }

  /** Everything that all runs wrote, to either output. */
  output(): string {
    return this.#runs.map((run) => run.stdout() + run.stderr()).join("");
  }

  /** Log lines of the current run. */
  log(): LogLine[] {
    return parseLog(this.#current.stdout());
  }

  /** Waits for a line in the log of the current run and answers it. Fails at once when the program ends before. */
  async waitForLog(what: string, fits: (line: LogLine) => boolean, timeoutMs = MAX_WAIT_MS): Promise<LogLine> {
    await this.#current.waitUntil(what, () => this.log().some(fits), timeoutMs);
    return this.log().find(fits) as LogLine;
  }

  /** The last lines of its output, for whoever wants to know why a test failed. */
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
