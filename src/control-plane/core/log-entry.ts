import type { AppLogLine } from "../../protocol/app-log.ts";
import type { EdgeError } from "../../protocol/errors.ts";

/** Lines that were left out, between those before and those after. */
export interface Omission {
  readonly omitted_lines: number;
  readonly omitted_bytes: number;
}

/** One line of a log as it is handed to a client, or what is in its place. */
export type LogEntry = AppLogLine | Omission;

/** How a log is written to a client. */
export interface LogFormat {
  readonly mediaType: string;
  entry(entry: LogEntry): string;
  /** The log ends here, and not because it was at its end. */
  failure(error: EdgeError): string;
}

/** One JSON object a line. */
export const NDJSON: LogFormat = {
  mediaType: "application/x-ndjson",
  entry: (entry) => `${JSON.stringify(entry)}\n`,
  failure: ({ code, message }) => `${JSON.stringify({ error: { code, message } })}\n`,
};

/** Timestamp, stream and text; lines in square brackets are the service's own. */
export const PLAIN_TEXT: LogFormat = {
  mediaType: "text/plain",
  entry: (entry) => ("text" in entry ? textLine(entry) : omission(entry)),
  failure: ({ code, message }) => `[the log ends here: ${singleLine(message)} (${code})]\n`,
};

function textLine({ timestamp, stream, text, truncated }: AppLogLine): string {
  return `${singleLine(timestamp)} ${stream} ${singleLine(text)}${truncated ? " [cut off]" : ""}\n`;
}

function omission({ omitted_lines: lines, omitted_bytes: bytes }: Omission): string {
  return `[${lines} ${lines === 1 ? "line" : "lines"} left out, ${bytes} bytes]\n`;
}

const COLOUR = "\\u001b\\[[\\d;]*m";
const COLOUR_OR_CONTROL = new RegExp(`(${COLOUR}|\\t)|[\\p{Cc}\\p{Bidi_Control}\\p{Zl}\\p{Zp}]`, "gu");

/**
 * A line must not be able to pass for several, nor tell the reader's terminal anything but colours, whatever the device
 * has let through.
 */
function singleLine(text: string): string {
  const oneLine = text.replaceAll(/\r\n|[\r\n]/g, "\\n");
  return oneLine.replaceAll(COLOUR_OR_CONTROL, (_found, harmless: string | undefined) => harmless ?? "\u{fffd}");
}
