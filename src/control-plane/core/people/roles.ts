import { ROLES, type Role } from "../../../protocol/people/principal.ts";

export { ROLES, type Role };

/** What a principal may do in its account. Each endpoint needs one of them: see `ENDPOINT_PERMISSIONS`. */
export const ROLE_PERMISSIONS = {
  viewer: ["assets.read", "apps.read", "deployments.read", "usage.read", "events.read", "fleets.read", "alerts.read"],
  installer: ["assets.register", "assets.name", "enrolment.create", "logs.read"],
  // What brings an app, a value or a membership of a fleet to a device.
  operator: [
    "apps.deploy",
    "assets.tag",
    "assets.accept",
    "enrolment.replace",
    "deployments.cancel",
    "assets.connectivity",
    "volumes.remove",
    "assets.hold",
    "assets.variables",
    "fleets.manage",
    "fleets.roll_out",
    "alerts.manage",
  ],
  admin: [
    // An operator's too where the account's settings say so: see `permissionsIn`.
    "agents.update",
    "assets.remove",
    "fleets.remove",
    "fleets.waive_approval",
    "users.manage",
    "keys.manage",
    "audit.read",
    "settings.manage",
  ],
} as const satisfies Record<Role, readonly string[]>;

export type RolePermission = (typeof ROLE_PERMISSIONS)[Role][number];

const PERMISSIONS_OF: ReadonlyMap<Role, ReadonlySet<RolePermission>> = new Map(
  ROLES.map((role, rank) => [role, new Set(ROLES.slice(0, rank + 1).flatMap((each) => ROLE_PERMISSIONS[each]))]),
);

/** Returns everything that the role may do. */
export function permissionsOf(role: Role): ReadonlySet<RolePermission> {
  return PERMISSIONS_OF.get(role) ?? new Set();
}

/** The same in an account whose settings may let operators update agents. */
export function permissionsIn(role: Role, operatorsUpdateAgents: boolean): ReadonlySet<RolePermission> {
  const permissions = permissionsOf(role);
  return operatorsUpdateAgents && role === "operator" ? new Set([...permissions, "agents.update"]) : permissions;
}

export function isRole(text: string): text is Role {
  return (ROLES as readonly string[]).includes(text);
}
