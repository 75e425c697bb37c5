import type { AppSpec } from "../../../protocol/apps/app-spec.ts";
import { normalizePath } from "../../../protocol/values/normalize-path.ts";
import { bindsOf } from "../../../protocol/apps/volume-fields.ts";
import { findMount, type MountEntry } from "../policy/mountinfo.ts";

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
