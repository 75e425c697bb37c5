/** Owner and mode of a file or directory. */
export interface FileStat {
  readonly path: string;
  readonly isDirectory: boolean;
  /** Permission bits with the sticky bit. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

/** Users and groups with the same rights as the agent. */
export interface TrustedUsers {
  readonly uids: readonly number[];
  readonly gids: readonly number[];
  /** User id that should own the file. */
  readonly expectedOwner: number;
}

/**
 * What untrusted users must not do with a file: `read` or write it, including its group; the same, but the group may
 * read it (`shared`); `write` it; or `replace` an entry of a parent directory.
 */
export type PermissionRule = "read" | "shared" | "write" | "replace";

/** A file that an untrusted user can read or change. */
export interface Exposure {
  readonly path: string;
  /** What is wrong, as a sentence. */
  readonly text: string;
  /** The command that fixes it. */
  readonly next: string;
  /** Only names in a directory are exposed. */
  readonly isMinor: boolean;
}

const FORBIDDEN_BITS: Readonly<Record<PermissionRule, number>> = {
  read: 0o077,
  shared: 0o027,
  write: 0o022,
  replace: 0o022,
};
const GROUP_BITS = 0o070;
const WRITE_BITS = 0o022;
const STICKY_BIT = 0o1000;
/** System groups have smaller ids. */
const MIN_USER_GID = 1000;

/**
 * Returns how a file is exposed; `undefined` if it is safe.
 *
 * @param allowed permission bits that are accepted regardless of the rule
 */
export function findExposure(
  file: FileStat,
  protection: PermissionRule,
  trusted: TrustedUsers,
  allowed: number = 0,
): Exposure | undefined {
  const { path, mode, uid, isDirectory } = file;
  const shown = `mode ${(mode & 0o7777).toString(8).padStart(4, "0")}`;
  if (!trusted.uids.includes(uid)) {
    const text = `${path} belongs to user ${uid} (${shown}), who can change it.`;
    return { path, text, next: `chown ${trusted.expectedOwner} ${quoteForShell(path)}`, isMinor: false };
  }
  // In a directory with the sticky bit, users cannot replace files of other users.
  if (protection === "replace" && (mode & STICKY_BIT) !== 0) return undefined;
  const forbidden = FORBIDDEN_BITS[protection] & ~allowed & ~trustedGroupBits(file, protection, trusted);
  const bits = mode & forbidden;
  if (bits === 0) return undefined;
  const can =
    (bits & WRITE_BITS) === 0 ? (isDirectory ? "look into" : "read") : isDirectory ? "replace what is in" : "change";
  return {
    path,
    text: `Other users can ${can} ${path} (${shown}).`,
    next: `chmod ${chmodArgument(bits, forbidden)} ${quoteForShell(path)}`,
    isMinor: isDirectory && (bits & WRITE_BITS) === 0,
  };
}

/** Returns the group permission bits that are accepted since the group is trusted. */
function trustedGroupBits({ uid, gid }: FileStat, protection: PermissionRule, { gids }: TrustedUsers): number {
  if (protection === "read") return 0;
  // Many distributions give each user a group with the same id.
  const isSystem = protection === "replace" && (gid < MIN_USER_GID || gid === uid);
  return isSystem || gids.includes(gid) ? GROUP_BITS : 0;
}

/** Returns the argument of the `chmod` that removes all forbidden permissions of the classes that have any. */
function chmodArgument(bits: number, forbidden: number): string {
  if (forbidden === 0o077) return "go-rwx";
  const of = (who: string, shift: number): string[] => {
    const taken = (forbidden >> shift) & 7;
    if (((bits >> shift) & 7) === 0) return [];
    return [`${who}-${taken & 4 ? "r" : ""}${taken & 2 ? "w" : ""}${taken & 1 ? "x" : ""}`];
  };
  return [...of("g", 3), ...of("o", 0)].join(",");
}

function quoteForShell(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
