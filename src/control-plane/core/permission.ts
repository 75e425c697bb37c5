import type { StreamKind } from "../../protocol/link/streams.ts";

/** Permissions that a key has only if they were given to it. Everything else every key of the account may do. */
export const PERMISSIONS = ["apps.forward", "apps.exec"] as const;
export type Permission = (typeof PERMISSIONS)[number];

/** The permission that each kind of stream needs. */
export const STREAM_PERMISSIONS: Readonly<Record<StreamKind, Permission>> = {
  forward: "apps.forward",
  exec: "apps.exec",
  read: "apps.exec",
  write: "apps.exec",
};

/** The name of a permission on the command line: `forward`, `exec`. */
const PREFIX = "apps.";

/** Parses names separated by commas; `undefined` if one is unknown. */
export function parsePermissions(text: string): Permission[] | undefined {
  const names = [...new Set(text.split(",").map((name) => PREFIX + name.trim()))];
  const known = PERMISSIONS.filter((permission) => names.includes(permission));
  return known.length === names.length ? known : undefined;
}

export function permissionName(permission: Permission): string {
  return permission.slice(PREFIX.length);
}
