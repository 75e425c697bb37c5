/** A file or directory as the file system shows it. */
export interface FileStat {
  readonly path: string;
  readonly isDirectory: boolean;
  /** Permissions with the sticky bit. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

/** Users and groups that may do what the agent may. */
export interface TrustedUsers {
  readonly uids: readonly number[];
  readonly gids: readonly number[];
  /** Whom the file should belong to. */
  readonly expectedOwner: number;
}

/**
 * What nobody else may do with it: `read` nor write it, not even a group; the same, but a group may read (`shared`);
 * `write` it; or `replace` what is in a directory on the way to it.
 */
export type PermissionRule = "read" | "shared" | "write" | "replace";

/** A user who is not trusted can read or change something. */
export interface Exposure {
  readonly path: string;
  /** What is wrong, in a sentence. */
  readonly text: string;
  /** The command that mends it. */
  readonly next: string;
  /** No more than names can be seen. */
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
/** Groups of the system itself have numbers below. */
const MIN_USER_GID = 1000;

/** Why a file is not safe; `undefined` where it is. @param allowed permissions that it may have all the same */
export function findExposure(
  facts: FileStat,
  protection: PermissionRule,
  trusted: TrustedUsers,
  allowed: number = 0,
): Exposure | undefined {
  const { path, mode, uid, isDirectory } = facts;
  const shown = `mode ${(mode & 0o7777).toString(8).padStart(4, "0")}`;
  if (!trusted.uids.includes(uid)) {
    const text = `${path} belongs to user ${uid} (${shown}), who can change it.`;
    return { path, text, next: `chown ${trusted.expectedOwner} ${quoteForShell(path)}`, isMinor: false };
  }
  // In a directory with the sticky bit nobody can replace what belongs to somebody else.
  if (protection === "replace" && (mode & STICKY_BIT) !== 0) return undefined;
  const forbidden = FORBIDDEN_BITS[protection] & ~allowed & ~trustedGroupBits(facts, protection, trusted);
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

/** Permissions of the file's group, where its members are trusted. */
function trustedGroupBits({ uid, gid }: FileStat, protection: PermissionRule, { gids }: TrustedUsers): number {
  if (protection === "read") return 0;
  // Many distributions give each user a group of that user's own, of the same number.
  const isSystem = protection === "replace" && (gid < MIN_USER_GID || gid === uid);
  return isSystem || gids.includes(gid) ? GROUP_BITS : 0;
}

/** What `chmod` is told to take away: everything that is forbidden to whom has too much. */
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
