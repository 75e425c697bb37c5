import { errorText } from "../../lib/error-text.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";

/** Prints an error to standard error in one line, and makes the process exit with 1. */
export function fail(program: string, error: unknown): void {
  const message = errorText(error);
  process.stderr.write(`${program}: ${sanitizeLine(message.replaceAll(/\s*\n\s*/g, " "))}\n`);
  process.exitCode = 1;
}
