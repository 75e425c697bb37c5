import { readFileSync } from "node:fs";

/** Returns the id of the current boot. Monotonic times are comparable within one boot only. */
export function readBootId(): string {
  return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
}
