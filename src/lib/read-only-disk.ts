import { closeSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";

/** What a system call says of a file system that was made read-only after an error, or whose disk fails. */
const CODES = new Set(["EROFS", "EIO"]);

/**
 * Whether the disk of a directory takes no new file of any user: it is read-only, or fails. Tried, since access(2) does not tell
 * it of an ext4 that has failed, from Linux 6.15 on.
 */
export function isReadOnlyDisk(directory: string): boolean {
  const path = join(directory, `.try-${process.pid}`);
  try {
    closeSync(openSync(path, "w", 0o600));
    rmSync(path, { force: true });
    return false;
  } catch (error) {
    return CODES.has((error as NodeJS.ErrnoException).code ?? "");
  }
}
