import { isPathBelow, isPathWithin } from "./resolved-path.ts";

/** A line of `/proc/self/mountinfo`. */
export interface MountEntry {
  /** Device of the file system, `major:minor`. */
  readonly device: string;
  /** Directory within the file system that is mounted. */
  readonly root: string;
  /** Mount point. */
  readonly path: string;
  /** Mount propagation: whether it receives from another peer group, and whether it is in one itself. */
  readonly isSlave: boolean;
  readonly isShared: boolean;
  /** Whether the mount, or its whole file system, is read-only. */
  readonly isReadOnly: boolean;
  /** Whether the kernel has given the file system up, since its disk fails or is gone: every access is an error. */
  readonly hasFailed: boolean;
}

/** Parses `/proc/self/mountinfo`. */
export function parseMountinfo(text: string): MountEntry[] {
  return text.split("\n").flatMap((line) => {
    const [, , device, root, path, options, ...more] = line.split(" ");
    if (device === undefined || root === undefined || path === undefined) return [];
    const end = Math.max(0, more.indexOf("-"));
    const fields = more.slice(0, end);
    const has = (name: string): boolean => fields.some((field) => field.startsWith(`${name}:`));
    const all = new Set([options, more[end + 3]].flatMap((list) => list?.split(",") ?? []));
    // Since Linux 6.15 ext4 has an option of its own after an error, in place of `ro`, and one after it was shut down.
    const isReadOnly = all.has("ro") || all.has("emergency_ro");
    const hasFailed = all.has("shutdown");
    const place = { device, root: unescapeMountPath(root), path: unescapeMountPath(path) };
    return [{ ...place, isSlave: has("master"), isShared: has("shared"), isReadOnly, hasFailed }];
  });
}

/** The kernel writes whitespace and backslashes as three octal digits. */
function unescapeMountPath(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

/** Returns the mount that a path without symbolic links is on. */
export function findMount(path: string, mounts: readonly MountEntry[]): MountEntry | undefined {
  let best: MountEntry | undefined;
  for (const mount of mounts) {
    if (isPathWithin(path, mount.path) && mount.path.length >= (best?.path.length ?? 0)) best = mount;
  }
  return best;
}

/**
 * Returns the location of a path: its file system's device followed by the path within it. Two paths have the same
 * location if they are the same directory, mounted twice.
 */
export function locateFile(path: string, mounts: readonly MountEntry[]): string {
  return locateOnMount(findMount(path, mounts), path);
}

function locateOnMount(mount: MountEntry | undefined, path: string): string {
  if (!mount) return path;
  const below = mount.path === "/" ? path : path.slice(mount.path.length);
  return `/${mount.device}${mount.root === "/" ? "" : mount.root}${below === "/" ? "" : below}`;
}

/** Returns locations of paths without symbolic links, as `locateFile` does. */
export interface FileLocations {
  locate(path: string): string;
  /** Locations of the path and of everything mounted below it. */
  locateAllBelow(path: string): readonly string[];
}

/** Returns locations as the host has them, ignoring mounts of this process's own namespace. */
export function hostLocations(mounts: readonly MountEntry[]): FileLocations {
  const isOwn = privateMountTest(mounts);
  // The last mount at a path hides the others.
  const byPath = new Map(mounts.filter((mount) => !isOwn(mount)).map((mount) => [mount.path, mount]));
  const of = (path: string): string => {
    let at = path;
    while (at !== "/" && !byPath.has(at)) at = at.slice(0, at.lastIndexOf("/")) || "/";
    return locateOnMount(byPath.get(at), path);
  };
  return {
    locate: of,
    locateAllBelow: (path) => [of(path), ...[...byPath.keys()].filter((at) => isPathBelow(at, path)).map(of)],
  };
}

/** Roots of mounts by which systemd hides directories from a service. */
const SYSTEMD_PRIVATE_MOUNT = /\/systemd-private-|\/systemd\/inaccessible\//;

/**
 * Returns the mount point of the private mount, such as a private `/tmp`, that hides the host's files from the path, if
 * any.
 */
export function findPrivateMount(path: string, mounts: readonly MountEntry[]): string | undefined {
  const mount = findMount(path, mounts);
  if (!mount) return undefined;
  return privateMountTest(mounts)(mount) ? mount.path : undefined;
}

/** Returns a test for mounts that only this process sees. */
function privateMountTest(mounts: readonly MountEntry[]): (mount: MountEntry) => boolean {
  // In a service's mount namespace, mounts inherited from the host are slaves of the host's mounts.
  const isOwnNamespace = mounts.findLast(({ path: at }) => at === "/")?.isSlave ?? false;
  return ({ root, isShared, isSlave }) => (isOwnNamespace && isShared && !isSlave) || SYSTEMD_PRIVATE_MOUNT.test(root);
}

/** Files that engines mount into each container from its own directory, which is named after its id. */
const ENGINE_MOUNTED_FILES = new Set(["/etc/hostname", "/etc/hosts", "/etc/resolv.conf", "/run/.containerenv"]);

/** Returns the id of the container this process runs in, if any, read from its mounts. */
export function containerIdOf(mounts: readonly MountEntry[]): string | undefined {
  const roots = mounts.filter(({ path }) => ENGINE_MOUNTED_FILES.has(path)).map(({ root }) => root);
  return roots.map((root) => /(?:^|\/)([0-9a-f]{64})\//.exec(root)?.[1]).find((id) => id !== undefined);
}

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
