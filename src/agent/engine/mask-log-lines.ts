import { SecretMasker, maskTokens } from "../../lib/redact.ts";
import { type LogLine, MAX_LINE_LENGTH } from "./log.ts";

/**
 * A line of an app's output without the app's secrets, nor what the cut of a long line has left of one.
 *
 * @param isFirst of what an engine gave: it may be the end of a long line that the engine keeps in parts
 */
export function maskLogLine(
  { text, truncated }: Pick<LogLine, "text" | "truncated">,
  masker: SecretMasker,
  isFirst: boolean,
) {
  return maskTokens(masker.mask(text, { atEnd: truncated, atStart: isFirst }));
}

/**
 * The last lines of an app's output as events and answers take them.
 *
 * @param maxLength of a line, in characters
 */
export function maskLogTail(lines: readonly string[], secrets: readonly string[], maxLength: number): string[] {
  const masker = new SecretMasker(secrets);
  return lines.map((text, index) => {
    const truncated = text.length >= MAX_LINE_LENGTH;
    return maskLogLine({ text, truncated }, masker, index === 0).slice(0, maxLength);
  });
}
