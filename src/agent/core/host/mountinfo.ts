import { isPathBelow, isPathWithin } from "../policy/resolved-path.ts";

/** A line of `/proc/self/mountinfo`. */
export interface MountEntry {
  /** Device of the file system, `major:minor`. */
  readonly device: string;
  /** The directory of the file system that is mounted. */
  readonly root: string;
  /** Where it is mounted. */
  readonly path: string;
  /** Whether it follows a mount of another namespace, and whether others follow it. */
  readonly isSlave: boolean;
  readonly isShared: boolean;
}

/** Reads the kernel's table of mounts. */
export function parseMountinfo(text: string): MountEntry[] {
  return text.split("\n").flatMap((line) => {
    const [, , device, root, path, , ...more] = line.split(" ");
    if (device === undefined || root === undefined || path === undefined) return [];
    const fields = more.slice(0, Math.max(0, more.indexOf("-")));
    const has = (name: string): boolean => fields.some((field) => field.startsWith(`${name}:`));
    return [{ device, root: unescape(root), path: unescape(path), isSlave: has("master"), isShared: has("shared") }];
  });
}

/** Blanks and the like are written as three octal digits. */
function unescape(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

/** The mount a path without links lies on. */
function findMount(path: string, mounts: readonly MountEntry[]): MountEntry | undefined {
  let best: MountEntry | undefined;
  for (const mount of mounts) {
    if (isPathWithin(path, mount.path) && mount.path.length >= (best?.path.length ?? 0)) best = mount;
  }
  return best;
}

/**
 * The same text for the same place, whatever it is called: a directory may be mounted at several paths. As a path, whose
 * first part is the file system.
 */
export function locateFile(path: string, mounts: readonly MountEntry[]): string {
  return locateOnMount(findMount(path, mounts), path);
}

function locateOnMount(mount: MountEntry | undefined, path: string): string {
  if (!mount) return path;
  const below = mount.path === "/" ? path : path.slice(mount.path.length);
  return `/${mount.device}${mount.root === "/" ? "" : mount.root}${below === "/" ? "" : below}`;
}

/** Looks up the places of paths without links, as `placeOf` names them. */
export interface FileLocations {
  locate(path: string): string;
  /** The place of the path, and of whatever is mounted below it. */
  locateAllBelow(path: string): readonly string[];
}

/** Places as the machine has them, without what is mounted for this process only. */
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

/** What a service manager puts in the place of directories it hides from a service. */
const SYSTEMD_PRIVATE_MOUNT = /\/systemd-private-|\/systemd\/inaccessible\//;

/**
 * Where something is mounted that only this process sees in place of what the machine has there, such as a private
 * `/tmp`; `undefined` where the path lies on nothing of the kind.
 */
export function findPrivateMount(path: string, mounts: readonly MountEntry[]): string | undefined {
  const mount = findMount(path, mounts);
  if (!mount) return undefined;
  return privateMountTest(mounts)(mount) ? mount.path : undefined;
}

/** Tells the mounts that only this process sees from those of the machine. */
function privateMountTest(mounts: readonly MountEntry[]): (mount: MountEntry) => boolean {
  // In a service's own mount namespace, whatever came from the machine follows the machine's mount.
  const isOwnNamespace = mounts.findLast(({ path: at }) => at === "/")?.isSlave ?? false;
  return ({ root, isShared, isSlave }) => (isOwnNamespace && isShared && !isSlave) || SYSTEMD_PRIVATE_MOUNT.test(root);
}

/** Files that engines mount into each container from the folder they keep of it, which is named after its id. */
const ENGINE_MOUNTED_FILES = new Set(["/etc/hostname", "/etc/hosts", "/etc/resolv.conf", "/run/.containerenv"]);

/** Id of the container that this process may be running in, by its mounts. */
export function containerIdOf(mounts: readonly MountEntry[]): string | undefined {
  const roots = mounts.filter(({ path }) => ENGINE_MOUNTED_FILES.has(path)).map(({ root }) => root);
  return roots.map((root) => /(?:^|\/)([0-9a-f]{64})\//.exec(root)?.[1]).find((id) => id !== undefined);
}
