import { safeJson, sanitizeLine, sanitizeLines, sanitizeOutput } from "../lib/terminal/sanitize.ts";
import { maskTokens } from "../lib/redact.ts";
import type { Failure } from "./failure.ts";
import type { Io } from "./io.ts";
import { createTheme, isTerminal, type Theme } from "../lib/terminal/theme.ts";
import { wrap } from "../lib/terminal/width.ts";

const MAX_LINES = 40;

/** Renders an error's details as lines, safe to print. Objects in a list become one line each. */
export function renderDetails(details: Readonly<Record<string, unknown>>): string[] {
  const lines = Object.entries(details).flatMap(([name, value]) => renderEntry(sanitizeLine(name), value));
  if (lines.length <= MAX_LINES) return lines;
  return [...lines.slice(0, MAX_LINES), `… (${lines.length - MAX_LINES} more lines; --json shows all)`];
}

function renderEntry(name: string, value: unknown): string[] {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value)) {
    return value.length === 0 ? [] : [`${name}:`, ...value.flatMap((item) => renderItem(item))];
  }
  if (typeof value === "string") {
    const lines = sanitizeLines(value);
    return lines.length > 1 ? [`${name}:`, ...lines.map((line) => `  ${line}`)] : [`${name}: ${lines[0] ?? ""}`];
  }
  return [`${name}: ${scalar(value)}`];
}

function renderItem(item: unknown): string[] {
  if (isIssue(item))
    return [`  ${sanitizeLine(item.path === "" ? "request" : item.path)}: ${sanitizeLine(item.reason)}`];
  if (typeof item === "string") return sanitizeLines(item).map((line) => `  ${line}`);
  return [`  ${scalar(item)}`];
}

function scalar(value: unknown): string {
  if (typeof value !== "object" || value === null) return sanitizeLine(String(value));
  const parts = Object.entries(value).map(
    ([name, part]) => `${name} ${typeof part === "object" ? JSON.stringify(part) : String(part)}`,
  );
  return sanitizeLine(parts.join(", "));
}

function isIssue(item: unknown): item is { path: string; reason: string } {
  if (typeof item !== "object" || item === null) return false;
  const { path, reason } = item as Record<string, unknown>;
  return typeof path === "string" && typeof reason === "string";
}

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
