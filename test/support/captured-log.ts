import { pino } from "pino";
import type { Logger } from "../../src/lib/logger.ts";

export interface CapturedLog {
  readonly logger: Logger;
  /** Everything logged so far, one JSON object a line. */
  text(): string;
}

/** A logger of every level that keeps its lines and masks nothing. */
export function captureLogText(): CapturedLog {
  const lines: string[] = [];
  const logger = pino({ level: "trace" }, { write: (line: string) => void lines.push(line) });
  return { logger, text: () => lines.join("") };
}
