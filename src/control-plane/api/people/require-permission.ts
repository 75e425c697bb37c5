import type { FastifyRequest } from "fastify";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import { fieldPermissionsOf, requirementOf } from "../../core/people/endpoint-permissions.ts";
import { permissionsIn, permissionsOf, type RolePermission } from "../../core/people/roles.ts";
import type { Store } from "../../store/store.ts";
import { principalOf } from "../auth.ts";

type Accounts = Pick<Store, "accounts">;
/** What the role alone gives. */
type PermissionOfRole = Exclude<RolePermission, "agents.update">;

/** Hook: refuses a request whose principal may not call the endpoint. Error: `Forbidden`. */
export function requirePermission(store: Accounts): (request: FastifyRequest) => Promise<void> {
  return async (request) => {
    const requirement = requirementOf(request.method, request.routeOptions.url ?? "");
    if (requirement === undefined || requirement === "public")
      throw new Error("an endpoint that authenticates requests needs a permission");
    if (requirement === "self") return;
    if (requirement !== "session") return requireBy(store, request, requirement);
    if (principalOf(request).kind === "user") return;
    throw forbidden("Only a person who is signed in can do this, not an API key.", requirement);
  };
}

/** Hook: refuses fields of the body or the query that need a further permission. Error: `Forbidden`. */
export function requireFieldPermissions(store: Accounts): (request: FastifyRequest) => Promise<void> {
  return async (request) => {
    const fields = fieldPermissionsOf(request.method, request.routeOptions.url ?? "");
    if (!fields) return;
    for (const part of [request.query, request.body]) {
      if (typeof part !== "object" || part === null) continue;
      for (const [name, permission] of fields)
        if (Object.hasOwn(part, name)) await requireBy(store, request, permission, name);
    }
  };
}

/**
 * Throws unless the role of the principal has the permission, which a request needs for what it finds on record. Error:
 * `Forbidden`.
 *
 * @param field of the request that needs it
 */
export function requirePermissionFor(request: FastifyRequest, permission: PermissionOfRole, field?: string): void {
  const { role } = principalOf(request);
  if (!permissionsOf(role).has(permission)) throw lacking(role, permission, field);
}

/** The same for `agents.update`, which the account's settings may give to operators. Error: `Forbidden`. */
export async function requireAgentUpdates(
  { accounts }: Accounts,
  request: FastifyRequest,
  field?: string,
): Promise<void> {
  const { role, accountId } = principalOf(request);
  if (permissionsOf(role).has("agents.update")) return;
  const canBeGiven = permissionsIn(role, true).has("agents.update");
  if (canBeGiven && (await accounts.readOperatorsUpdateAgents(accountId))) return;
  throw lacking(role, "agents.update", field);
}

async function requireBy(
  store: Accounts,
  request: FastifyRequest,
  permission: RolePermission,
  field?: string,
): Promise<void> {
  if (permission === "agents.update") await requireAgentUpdates(store, request, field);
  else requirePermissionFor(request, permission, field);
}

function lacking(role: string, permission: RolePermission, field?: string): EdgeError {
  const what = field === undefined ? "" : ` for the field ${field}`;
  return forbidden(`The role ${role} does not have the permission ${permission}, which is needed${what}.`, permission);
}

function forbidden(message: string, permission: string): EdgeError {
  return new EdgeError("Forbidden", message, { permission });
}
