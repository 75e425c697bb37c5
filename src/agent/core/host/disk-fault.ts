import type { AppSpec } from "../../../protocol/apps/app-spec.ts";
import { normalizePath } from "../../../protocol/values/normalize-path.ts";
import { bindsOf } from "../../../protocol/apps/volume-fields.ts";
import { findMount, type MountEntry } from "../policy/mountinfo.ts";

/**
 * Describes why the state directory cannot be written.
 *
 * @param code the system's error code
 * @param user that the agent runs as
 */
export function describeDiskFault(
  code: string,
  directory: string,
  user: string,
): { readonly text: string; readonly next: string } {
  switch (code) {
    case "EROFS":
      return {
        text: `The file system of ${directory} is read-only.`,
        next: `See why: sudo dmesg | grep -i -e error -e remount; try: sudo mount -o remount,rw "$(findmnt -no TARGET -T ${directory})"; if it comes back, replace the disk or SD card`,
      };
    case "ENOSPC":
    case "EDQUOT":
      return {
        text: `The file system of ${directory} is full.`,
        next: `Free space there: df -h ${directory}, and df -i ${directory} for the number of files; sudo journalctl --vacuum-size=50M; sudo docker system df shows what images take`,
      };
    case "EACCES":
    case "EPERM":
      return {
        text: `${directory} cannot be written by ${user}.`,
        next: `sudo chown -R ${user}: ${directory}`,
      };
    default:
      return {
        text: `${directory} cannot be written (${code}).`,
        next: "The disk or SD card fails: sudo dmesg | grep -i error; replace it",
      };
  }
}

/** Returns the first path that an app mounts from a disk that fails or is gone; `undefined` if there is none. */
export function findFailedDisk(spec: Pick<AppSpec, "volumes">, mounts: readonly MountEntry[]): string | undefined {
  return bindsOf(spec)
    .map(({ local }) => normalizePath(local))
    .find((path) => findMount(path, mounts)?.hasFailed);
}

/** Describes it as the trouble of an app. */
export function failedDiskText(path: string): string {
  return `the disk of ${path}, which it mounts, fails or is gone`;
}

/** What a person can do about it. */
export function failedDiskAdvice(path: string, app: string): string {
  return `See why: sudo dmesg | grep -i error; replace the disk or plug it in again, mount it anew: sudo umount -l "$(findmnt -no TARGET -T ${path})"; sudo mount -a; then: sudo edge-agent restart ${app}`;
}
