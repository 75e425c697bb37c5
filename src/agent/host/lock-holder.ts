import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";

/** `1: POSIX ADVISORY WRITE PID MAJOR:MINOR:INODE START END`: proc(5). */
const LOCK = /^\d+: POSIX +ADVISORY +WRITE +(\d+) +[0-9a-f]+:[0-9a-f]+:(\d+) /;

/** Returns the process that has a lock on the file; `undefined` if there is none, or this user may not see it. */
export function findLockHolder(path: string, proc = "/proc"): number | undefined {
  try {
    const { ino } = statSync(path);
    const pids = readFileSync(`${proc}/locks`, "utf8")
      .split("\n")
      .flatMap((line) => {
        const [, pid, inode] = LOCK.exec(line) ?? [];
        return Number(inode) === ino ? [Number(pid)] : [];
      });
    // Inodes are unique for each file system only.
    return pids.find((pid) =>
      readdirSync(`${proc}/${pid}/fd`).some((fd) => readlinkSync(`${proc}/${pid}/fd/${fd}`) === path),
    );
  } catch {
    return undefined;
  }
}
