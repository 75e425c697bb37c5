import { sanitizeOutput, safeJson, sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { createTheme, isTerminal, type Theme } from "../../lib/terminal/theme.ts";
import { wrap } from "../../lib/terminal/width.ts";
import type { Io } from "./io.ts";

const DEFAULT_WIDTH = 80;

/** Prints a command's output: results to standard output, everything else to standard error. */
export class AgentPrinter {
  readonly json: boolean;
  readonly theme: Theme;
  readonly #io: Pick<Io, "stdout" | "stderr" | "env">;

  constructor(io: Pick<Io, "stdout" | "stderr" | "env">, json: boolean) {
    this.#io = io;
    this.json = json;
    this.theme = createTheme(io.stdout, io.env);
  }

  /** Columns of the terminal; `undefined` if the output goes to a file or another program, where nothing is cut. */
  get width(): number | undefined {
    const { stdout, env } = this.#io;
    return isTerminal(stdout, env) ? (stdout.columns ?? DEFAULT_WIDTH) : undefined;
  }

  /** Prints formatted text and a line end. */
  line(text: string = ""): void {
    this.#io.stdout.write(`${sanitizeOutput(text, this.theme.hasColour)}\n`);
  }

  /** Returns text from outside without control characters and line breaks. */
  safe(text: string): string {
    return sanitizeLine(text);
  }

  /** Prints text from outside as one line. */
  raw(text: string): void {
    this.line(sanitizeLine(text));
  }

  /**
   * Prints text from outside, wrapped at spaces. `head` starts the first line; the others are indented by its width.
   */
  paragraph(head: string, headWidth: number, text: string, paint: (line: string) => string = (line) => line): void {
    const { width = Infinity } = this;
    const lines = wrap(sanitizeLine(text), Math.max(20, width - headWidth));
    for (const [index, line] of lines.entries()) {
      this.line((index === 0 ? head : " ".repeat(headWidth)) + paint(line));
    }
  }

  document(value: unknown): void {
    this.line(safeJson(value, 2));
  }

  jsonLine(value: unknown): void {
    this.line(safeJson(value));
  }

  /** Prints a note to standard error. */
  note(text: string): void {
    this.#io.stderr.write(`${sanitizeLine(text)}\n`);
  }

  /** Prints an error and a hint what to do about it. */
  failure(message: string, hint: string | undefined, exitCode: number): void {
    if (this.json) {
      this.#io.stderr.write(
        `${safeJson({ error: { message, ...(hint !== undefined && { hint }), exit_code: exitCode } })}\n`,
      );
      return;
    }
    const theme = createTheme(this.#io.stderr, this.#io.env);
    this.#io.stderr.write(`${theme.red("edge-agent:")} ${sanitizeLine(message)}\n`);
    if (hint !== undefined) this.#io.stderr.write(`  ${theme.cyan(sanitizeLine(hint))}\n`);
  }
}
