import type { SecretMasker } from "../../lib/redact.ts";
import { printable } from "../core/logs/text.ts";
import type { LogLine } from "../engine/engine.ts";
import { maskLogLine } from "../engine/mask-log-lines.ts";

/**
 * Masks secrets in a line of an app's output, and removes control characters.
 *
 * @param isFirst whether it is the first line of its stream: see `maskLogLine`
 */
export function toReportedLine(line: LogLine, masker: SecretMasker, isFirst: boolean): LogLine {
  const { stream, time, truncated } = line;
  return { stream, time, text: printable(maskLogLine(line, masker, isFirst)), truncated };
}
