import type { AppLogLine } from "../../protocol/apps/app-log.ts";
import type { EdgeError } from "../../protocol/errors/errors.ts";

/** Stands in the place of lines that were left out. */
export interface Omission {
  readonly omitted_lines: number;
  readonly omitted_bytes: number;
}

/** One entry of a log as sent to a client. */
export type LogEntry = AppLogLine | Omission;

/** Text format of a log. */
export interface LogFormat {
  readonly mediaType: string;
  entry(entry: LogEntry): string;
  /** Returns the last entry of a log that ends because of an error. */
  failure(error: EdgeError): string;
}

/** One JSON object per line. */
export const NDJSON: LogFormat = {
  mediaType: "application/x-ndjson",
  entry: (entry) => `${JSON.stringify(entry)}\n`,
  failure: ({ code, message }) => `${JSON.stringify({ error: { code, message } })}\n`,
};

/** Timestamp, stream and text; lines in square brackets come from the service. */
export const PLAIN_TEXT: LogFormat = {
  mediaType: "text/plain",
  entry: (entry) => ("text" in entry ? textLine(entry) : omission(entry)),
  failure: ({ code, message }) => `[the log ends here: ${singleLine(message)} (${code})]\n`,
};

function textLine({ time, stream, text, truncated }: AppLogLine): string {
  return `${singleLine(time)} ${stream} ${singleLine(text)}${truncated ? " [cut off]" : ""}\n`;
}

function omission({ omitted_lines: lines, omitted_bytes: bytes }: Omission): string {
  return `[${lines} ${lines === 1 ? "line" : "lines"} left out, ${bytes} bytes]\n`;
}

const COLOUR = "\\u001b\\[[\\d;]*m";
const COLOUR_OR_CONTROL = new RegExp(`(${COLOUR}|\\t)|[\\p{Cc}\\p{Bidi_Control}\\p{Zl}\\p{Zp}]`, "gu");

/**
 * Makes untrusted text safe to print as one line: escapes line breaks, and replaces control characters except tabs and
 * colours.
 */
function singleLine(text: string): string {
  const oneLine = text.replaceAll(/\r\n|[\r\n]/g, "\\n");
  return oneLine.replaceAll(COLOUR_OR_CONTROL, (_found, harmless: string | undefined) => harmless ?? "\u{fffd}");
}
