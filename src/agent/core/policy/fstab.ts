import { isPathWithin } from "./resolved-path.ts";
import { type MountEntry, unescapeMountPath } from "./mountinfo.ts";

/** Returns the mount points that `/etc/fstab` has mounted at boot. */
export function parseFstab(text: string): string[] {
  return text.split("\n").flatMap((line) => {
    const [source = "", path = "", type = "", options = ""] = line.trim().split(/\s+/);
    const isMounted = path.startsWith("/") && type !== "swap" && !options.split(",").includes("noauto");
    return source.startsWith("#") || !isMounted ? [] : [unescapeMountPath(path)];
  });
}

/** Returns the mount point of `/etc/fstab` that a path is below and on which nothing is mounted, if any. */
export function findUnmounted(
  path: string,
  fstab: readonly string[],
  mounts: readonly MountEntry[],
): string | undefined {
  return fstab.find((point) => isPathWithin(path, point) && !mounts.some((mount) => mount.path === point));
}
