import { pino } from "pino";
import type { Logger } from "../../../src/lib/logger.ts";

/** A logger that keeps its lines. */
export function captureLog(): { readonly logger: Logger; readonly lines: Record<string, unknown>[] } {
  const lines: Record<string, unknown>[] = [];
  const logger = pino(
    { level: "trace", formatters: { level: (level) => ({ level }) } },
    { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
  );
  return { logger, lines };
}
