import type { FastifyRequest } from "fastify";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import { fieldPermissionsOf, requirementOf } from "../../core/people/endpoint-permissions.ts";
import { permissionsOf, type RolePermission } from "../../core/people/roles.ts";
import { principalOf } from "../auth.ts";

/** Hook: refuses a request whose principal may not call the endpoint. Error: `Forbidden`. */
export async function requirePermission(request: FastifyRequest): Promise<void> {
  const { role, kind } = principalOf(request);
  const requirement = requirementOf(request.method, request.routeOptions.url ?? "");
  if (requirement === undefined || requirement === "public")
    throw new Error("an endpoint that authenticates requests needs a permission");
  if (requirement === "self") return;
  if (requirement === "session") {
    if (kind === "user") return;
    throw forbidden("Only a person who is signed in can do this, not an API key.", requirement);
  }
  if (!permissionsOf(role).has(requirement)) throw lacking(role, requirement);
}

/** Hook: refuses fields of the body or the query that need a further permission. Error: `Forbidden`. */
export async function requireFieldPermissions(request: FastifyRequest): Promise<void> {
  const fields = fieldPermissionsOf(request.method, request.routeOptions.url ?? "");
  if (!fields) return;
  const { role } = principalOf(request);
  for (const part of [request.query, request.body]) {
    if (typeof part !== "object" || part === null) continue;
    const needed = Object.keys(part).find((name) => {
      const permission = fields.get(name);
      return permission !== undefined && !permissionsOf(role).has(permission);
    });
    if (needed !== undefined) throw lacking(role, fields.get(needed) as RolePermission, needed);
  }
}

/**
 * Throws unless the principal has the permission, which a request needs for what it finds on record. Error: `Forbidden`.
 *
 * @param field of the request that needs it
 */
export function requirePermissionFor(request: FastifyRequest, permission: RolePermission, field?: string): void {
  const { role } = principalOf(request);
  if (!permissionsOf(role).has(permission)) throw lacking(role, permission, field);
}

function lacking(role: string, permission: RolePermission, field?: string): EdgeError {
  const what = field === undefined ? "" : ` for the field ${field}`;
  return forbidden(`The role ${role} does not have the permission ${permission}, which is needed${what}.`, permission);
}

function forbidden(message: string, permission: string): EdgeError {
  return new EdgeError("Forbidden", message, { permission });
}
