import { maskTokens } from "../lib/redact.ts";
import type { Failure } from "./failure.ts";
import type { Io } from "./io.ts";
import { sanitizeOutput, safeJson, sanitizeLine } from "../lib/terminal/sanitize.ts";
import { createTheme, isTerminal, type Theme } from "../lib/terminal/theme.ts";
import { wrap } from "../lib/terminal/width.ts";
import { renderDetails } from "./details.ts";

const DEFAULT_WIDTH = 80;
const INDENT = "  ";
const LABEL = "Error:";

/** Prints a command's output: results to standard output, everything else to standard error. */
export class Printer {
  readonly json: boolean;
  /** The theme of standard output. */
  readonly theme: Theme;
  readonly #io: Io;
  readonly #errorTheme: Theme;

  constructor(io: Io, json: boolean) {
    this.#io = io;
    this.json = json;
    this.theme = createTheme(io.stdout, io.env);
    this.#errorTheme = createTheme(io.stderr, io.env);
  }

  /** Width of standard output in columns; `undefined` for a file or a pipe. */
  get width(): number | undefined {
    return isTerminal(this.#io.stdout, this.#io.env) ? (this.#io.stdout.columns ?? DEFAULT_WIDTH) : undefined;
  }

  /** Prints a result: `document` with `--json`, otherwise the text from `render`. */
  result(document: unknown, render: () => string): void {
    if (this.json) this.#io.stdout.write(`${safeJson(document, 2)}\n`);
    else this.line(render());
  }

  /** Prints text that is already laid out, with a line break. */
  line(text: string): void {
    this.#io.stdout.write(`${sanitizeOutput(text, this.theme.hasColour)}\n`);
  }

  /** Prints one document of a stream as one line of JSON. */
  jsonLine(document: unknown): void {
    this.#io.stdout.write(`${safeJson(document)}\n`);
  }

  /** Prints a notice that is neither a result nor a failure. */
  note(message: string): void {
    if (this.json) this.#io.stderr.write(`${safeJson({ note: message })}\n`);
    else this.#io.stderr.write(`${this.#errorTheme.yellow("Note:")} ${sanitizeLine(message)}\n`);
  }

  failure(failure: Failure): void {
    const text = maskTokens(this.json ? failureAsJson(failure) : this.#failureAsText(failure));
    this.#io.stderr.write(sanitizeOutput(text, this.#errorTheme.hasColour));
  }

  #failureAsText(failure: Failure): string {
    const theme = this.#errorTheme;
    const { stderr, env } = this.#io;
    // In a file a message stays on one line, so that it can be searched.
    const width = isTerminal(stderr, env) ? (stderr.columns ?? DEFAULT_WIDTH) - INDENT.length : Infinity;
    const code = failure.code === undefined ? "" : ` (${sanitizeLine(failure.code)})`;
    const [first, ...rest] = wrap(`${sanitizeLine(failure.message)}${code}`, width - LABEL.length);
    const indented = [
      ...rest,
      ...renderDetails(failure.details ?? {}),
      ...wrapHint(failure.hint ?? "", width).map((line) => theme.cyan(line)),
    ];
    return [`${theme.red(theme.bold(LABEL))} ${first}`, ...indented.map((line) => INDENT + line), ""].join("\n");
  }
}

/** Wraps a hint. Lines that begin with a space are commands to copy and stay whole. */
function wrapHint(hint: string, width: number): string[] {
  if (hint === "") return [];
  return hint.split("\n").flatMap((line) => (line.startsWith(" ") ? [line] : wrap(line, width)).map(sanitizeLine));
}

function failureAsJson(failure: Failure): string {
  const { message, code, hint, details, exitCode } = failure;
  return `${safeJson({ error: { message, code, hint, details, exit_code: exitCode } })}\n`;
}
