import { systemClock } from "../../lib/clock.ts";
import { isJournalStream } from "../../lib/log/journal.ts";
import { RotatingFile } from "../../lib/log/rotating-file.ts";
import { createLogger, type Logger } from "../../lib/logger.ts";
import { logFilePath, writesLogFile } from "../config/log-file.ts";
import type { Config } from "../config/load.ts";
import { LogRing } from "../local/log-ring.ts";

const STDOUT = 1;

/** Opens the daemon's log: standard output, a ring in memory for local commands, and a file if configured. */
export async function openLog({
  log,
}: Pick<Config, "log">): Promise<{ readonly logger: Logger; readonly ring: LogRing }> {
  const ring = new LogRing();
  const file = writesLogFile(log.file, isJournalStream(STDOUT, process.env))
    ? new RotatingFile({
        path: logFilePath(log.file),
        maxBytes: log.file.max_bytes,
        maxFiles: log.file.max_files,
        clock: systemClock,
      })
    : undefined;
  const logger = await createLogger({
    name: "edge-agent",
    level: log.level,
    tap: (line) => {
      ring.write(line);
      file?.write(line);
    },
    burstClock: systemClock,
  });
  // Registered after the logger's own listener, which still writes the counts of suppressed lines.
  if (file) process.once("exit", () => file[Symbol.dispose]());
  return { logger, ring };
}
