import { SecretMasker, maskTokens } from "../../lib/redact.ts";
import { printable } from "../core/text.ts";
import { type LogLine, MAX_LINE_LENGTH } from "./log.ts";

/**
 * Masks an app's secrets in a line of its output, including a secret that was cut with the line.
 *
 * @param isFirst whether it is the first line from the engine: it may be the end of a long line stored in parts
 */
export function maskLogLine(
  { text, truncated }: Pick<LogLine, "text" | "truncated">,
  masker: SecretMasker,
  isFirst: boolean,
) {
  return maskTokens(masker.mask(text, { atEnd: truncated, atStart: isFirst }));
}

/**
 * Masks secrets in a line of an app's output, and replaces control characters.
 *
 * @param isFirst whether it is the first line of its stream: see `maskLogLine`
 */
export function toReportedLine(line: LogLine, masker: SecretMasker, isFirst: boolean): LogLine {
  const { stream, time, truncated } = line;
  return { stream, time, text: printable(maskLogLine(line, masker, isFirst)), truncated };
}

/**
 * Masks and shortens the last lines of an app's output for events and responses.
 *
 * @param maxLength maximum length of a line, in characters
 */
export function maskLogTail(lines: readonly string[], secrets: readonly string[], maxLength: number): string[] {
  const masker = new SecretMasker(secrets);
  return lines.map((text, index) => {
    const truncated = text.length >= MAX_LINE_LENGTH;
    return maskLogLine({ text, truncated }, masker, index === 0).slice(0, maxLength);
  });
}
