import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { errorText } from "../../lib/error-text.ts";
import type { Logger } from "../../lib/logger.ts";
import { hasResidualData, scrub } from "../../lib/sqlite.ts";

/** Rewriting a larger database would delay the start too long. */
const MAX_DATABASE_BYTES = 256 * 1024 * 1024;

const MANUAL_ADVICE =
  "To have it done, stop the server, `edge-control backup` and `edge-control restore`, and delete the database it replaced";

/**
 * Rewrites the database once if an earlier release left deleted values in its free space. Must be called before the server
 * opens it. On failure it logs what to do, and the server starts anyway.
 */
export function scrubDatabase(path: string, logger: Logger, maxBytes: number = MAX_DATABASE_BYTES): void {
  if (!existsSync(path)) return;
  // Directory of SQLite's temporary copy. The default may be small or in memory.
  process.env["SQLITE_TMPDIR"] ??= dirname(path);
  try {
    const database = new DatabaseSync(path, { timeout: 1_000 });
    try {
      const number = (pragma: string): number =>
        Number(Object.values(database.prepare(`PRAGMA ${pragma}`).get() ?? {})[0]);
      // An empty database is marked as scrubbed when its schema is created.
      if (number("user_version") === 0 || !hasResidualData(database)) return;
      const bytes = number("page_count") * number("page_size");
      if (bytes > maxBytes) throw new Error(`it has ${bytes} bytes, and more than ${maxBytes} take too long`);
      scrub(database, "file");
      logger.info({ bytes }, "rewrote the database, since an earlier release left deleted values in its free space");
    } finally {
      database.close();
    }
  } catch (error) {
    const reason = errorText(error);
    logger.warn(
      { reason },
      `an earlier release left deleted values in the free space of the database, which was not rewritten. ${MANUAL_ADVICE}`,
    );
  }
}
