import type { OwnerIds } from "../../../protocol/apps/volume-fields.ts";

/** Files of an image that name its users. */
export interface UserFiles {
  /** Content of `/etc/passwd`; `undefined` if the image has none. */
  readonly passwd: string | undefined;
  /** Content of `/etc/group`. */
  readonly group: string | undefined;
}

const ROOT: OwnerIds = { uid: 0, gid: 0 };
const MAX_ID = 2 ** 31 - 1;

/** Whether finding the owner for an image's user needs the image's files. */
export function needsUserFiles(user: string): boolean {
  return user !== "" && !/^\d+:\d+$/.test(user);
}

/**
 * Returns the ids that programs of an image run with. Root's for a user that cannot be found, as its container will not
 * start either.
 *
 * @param user `USER[:GROUP]` by name or number, as in the image; empty for root
 */
export function ownerOf(user: string, { passwd, group }: UserFiles): OwnerIds {
  if (user === "") return ROOT;
  const [name = "", groupName] = user.split(":");
  const entry = rows(passwd).find(([login, , id]) => login === name || id === name);
  const uid = toId(entry?.[2]) ?? toId(name);
  if (uid === undefined) return ROOT;
  if (groupName === undefined) return { uid, gid: toId(entry?.[3]) ?? 0 };
  const groupEntry = rows(group).find(([title]) => title === groupName);
  return { uid, gid: toId(groupEntry?.[2]) ?? toId(groupName) ?? 0 };
}

function rows(text: string | undefined): string[][] {
  return (text ?? "").split("\n").map((line) => line.split(":"));
}

function toId(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,10}$/.test(text)) return undefined;
  const id = Number(text);
  return id <= MAX_ID ? id : undefined;
}

/**
 * Returns the owner of a directory that an image's programs are to use: the one that the image's own directory there has,
 * unless that is root and the programs run as another user, who could not write to it.
 */
export function directoryOwner(inImage: OwnerIds | undefined, user: OwnerIds): OwnerIds {
  return inImage === undefined || inImage.uid === 0 ? { ...user, ...(user.uid === 0 && inImage) } : inImage;
}
