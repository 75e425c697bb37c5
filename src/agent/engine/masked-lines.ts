import { Masker, maskTokens } from "../../lib/redact.ts";
import { type LogLine, MAX_LINE_LENGTH } from "./log.ts";

/**
 * A line of an app's output without the app's secrets, nor what the cut of a long line has left of one.
 *
 * @param isFirst of what an engine gave: it may be the end of a long line that the engine keeps in parts
 */
export function maskedLine({ text, truncated }: Pick<LogLine, "text" | "truncated">, masker: Masker, isFirst: boolean) {
  return maskTokens(masker.mask(text, { atEnd: truncated, atStart: isFirst }));
}

/**
 * The last lines of an app's output as events and answers take them.
 *
 * @param maxLength of a line, in characters
 */
export function maskedTail(lines: readonly string[], secrets: readonly string[], maxLength: number): string[] {
  const masker = new Masker(secrets);
  return lines.map((text, index) => {
    const truncated = text.length >= MAX_LINE_LENGTH;
    return maskedLine({ text, truncated }, masker, index === 0).slice(0, maxLength);
  });
}
