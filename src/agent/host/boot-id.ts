import { readFileSync } from "node:fs";

/** Identity of this boot of the machine: monotonic times of another boot say nothing. */
export function readBootId(): string {
  return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
}
