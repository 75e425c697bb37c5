import { lstat, readlink, stat } from "node:fs/promises";
import { dirname } from "node:path";
import type { ResolvedPath } from "../core/policy/resolved-path.ts";
import { resolvePath } from "./resolve-path.ts";

/** A user of the machine, with its primary group. */
export interface User {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Resolves a path as far as another user can. The caller must be root, to read every directory. Checks the permission
 * bits of directories only: access lists and supplementary groups are ignored.
 */
export function resolveAsUser(path: string, user: User): Promise<ResolvedPath> {
  return resolvePath(path, {
    read: async (at) => {
      if (user.uid !== 0 && !hasSearchPermission(await stat(dirname(at)), user)) {
        throw Object.assign(new Error(`no permission to look into ${dirname(at)}`), { code: "EACCES" });
      }
      return (await lstat(at)).isSymbolicLink() ? await readlink(at) : undefined;
    },
  });
}

function hasSearchPermission(directory: User & { readonly mode: number }, { uid, gid }: User): boolean {
  const shift = directory.uid === uid ? 6 : directory.gid === gid ? 3 : 0;
  return ((directory.mode >> shift) & 1) !== 0;
}
