import type { RolePermission } from "./roles.ts";

/**
 * What an endpoint needs: a permission of the principal's role; any principal (`self`); a person who is signed in
 * (`session`); or no principal at all (`public`).
 */
export type Requirement = RolePermission | "self" | "session" | "public";

/**
 * Every endpoint with what it needs, by method and path. The server does not start with an endpoint that is not in this
 * table.
 */
export const ENDPOINT_PERMISSIONS: Readonly<Record<string, Requirement>> = {
  "POST /v1/enrolments": "public",
  "POST /v1/setup": "public",
  "POST /v1/invitations": "public",
  "GET /v1/sign-in": "public",
  "POST /v1/session": "public",
  "GET /v1/oidc/start": "public",
  "GET /v1/oidc/callback": "public",
  "GET /v1/session": "self",
  "DELETE /v1/session": "session",
  "PUT /v1/session/password": "session",

  "GET /v1/users": "users.manage",
  "POST /v1/users": "users.manage",
  "GET /v1/users/:user_id": "users.manage",
  "PATCH /v1/users/:user_id": "users.manage",
  "DELETE /v1/users/:user_id": "users.manage",
  "POST /v1/users/:user_id/reset": "users.manage",
  "GET /v1/sign-in-settings": "settings.manage",
  "GET /v1/api-keys": "keys.manage",
  "POST /v1/api-keys": "keys.manage",
  "GET /v1/api-keys/:key_id": "keys.manage",
  "PATCH /v1/api-keys/:key_id": "keys.manage",
  "DELETE /v1/api-keys/:key_id": "keys.manage",
  "GET /v1/audit": "audit.read",

  "POST /v1/device-logins": "public",
  "POST /v1/device-logins/token": "public",
  "GET /v1/device-logins/:user_code": "session",
  "POST /v1/device-logins/:user_code": "session",

  "GET /v1/overview": "assets.read",
  "GET /v1/events": "events.read",

  "GET /v1/alerts": "alerts.read",
  "POST /v1/alerts/:alert_id/acknowledge": "alerts.manage",
  "POST /v1/alert-groups/:group_id/acknowledge": "alerts.manage",
  "GET /v1/silences": "alerts.read",
  "POST /v1/silences": "alerts.manage",
  "DELETE /v1/silences/:silence_id": "alerts.manage",
  // Mail addresses of people, and what other servers have answered.
  "GET /v1/alert-settings": "settings.manage",
  "PUT /v1/alert-settings": "settings.manage",
  "POST /v1/alert-channels/:name/test": "settings.manage",
  "GET /v1/alert-deliveries": "alerts.manage",

  "GET /v1/assets": "assets.read",
  "POST /v1/assets": "assets.register",
  "POST /v1/bulk/assets": "assets.register",
  "POST /v1/bulk/tags": "assets.tag",
  "GET /v1/assets/:asset_id": "assets.read",
  // Fields other than the name need more: see `FIELD_PERMISSIONS`.
  "PATCH /v1/assets/:asset_id": "assets.name",
  "DELETE /v1/assets/:asset_id": "assets.remove",
  "GET /v1/assets/:asset_id/sims/:sim_type/usages": "usage.read",
  "GET /v1/assets/:asset_id/connectivity": "assets.read",
  "GET /v1/assets/:asset_id/uptime": "assets.read",
  "GET /v1/uptime": "assets.read",
  "GET /v1/metrics/devices": "assets.read",
  "GET /v1/assets/:asset_id/health": "apps.read",
  "GET /v1/sims": "assets.read",
  "GET /v1/usages": "usage.read",
  "GET /v1/assets/:asset_id/sims": "assets.read",
  "POST /v1/assets/:asset_id/sims/:sim_type/refresh": "assets.connectivity",
  "GET /v1/assets/:asset_id/sims/:sim_type/allowance": "usage.read",
  "PUT /v1/assets/:asset_id/sims/:sim_type/allowance": "assets.connectivity",
  "DELETE /v1/assets/:asset_id/sims/:sim_type/allowance": "assets.connectivity",
  "GET /v1/data-plan-settings": "usage.read",
  "PATCH /v1/data-plan-settings": "settings.manage",

  // For an asset whose device has been connected, `enrolment.replace` besides.
  "POST /v1/assets/:asset_id/enrolment-codes": "enrolment.create",
  "POST /v1/assets/:asset_id/accept": "assets.accept",
  "GET /v1/enrolment-settings": "assets.read",
  "PATCH /v1/enrolment-settings": "settings.manage",
  "GET /v1/network-groups": "assets.read",
  "GET /v1/agent-releases": "assets.read",
  "GET /v1/agent-settings": "assets.read",
  "PATCH /v1/agent-settings": "settings.manage",

  "GET /v1/assets/:asset_id/edge/apps": "apps.read",
  "POST /v1/assets/:asset_id/edge/apps": "apps.deploy",
  "POST /v1/assets/:asset_id/edge/apply": "apps.deploy",
  "POST /v1/assets/:asset_id/edge/agent": "agents.update",
  "GET /v1/assets/:asset_id/edge/apps/:name": "apps.read",
  "PATCH /v1/assets/:asset_id/edge/apps/:name": "apps.deploy",
  "DELETE /v1/assets/:asset_id/edge/apps/:name": "apps.deploy",
  "POST /v1/assets/:asset_id/edge/apps/:name/start": "apps.deploy",
  "POST /v1/assets/:asset_id/edge/apps/:name/stop": "apps.deploy",
  "POST /v1/assets/:asset_id/edge/apps/:name/restart": "apps.deploy",
  "GET /v1/assets/:asset_id/edge/apps/:name/logs": "logs.read",

  "GET /v1/uploads": "apps.read",
  "PUT /v1/uploads/:sha256/pieces/:number": "apps.deploy",

  "GET /v1/deployments": "deployments.read",
  "GET /v1/assets/:asset_id/edge/deployments": "deployments.read",
  "GET /v1/assets/:asset_id/edge/deployments/:deployment_id": "deployments.read",
  "GET /v1/assets/:asset_id/edge/deployments/:deployment_id/events": "deployments.read",
  "DELETE /v1/assets/:asset_id/edge/deployments/:deployment_id": "deployments.cancel",

  "GET /v1/assets/:asset_id/edge/device": "apps.read",
  "GET /v1/assets/:asset_id/edge/stats": "apps.read",
  "GET /v1/assets/:asset_id/edge/data-usage": "usage.read",
  "GET /v1/assets/:asset_id/edge/volumes": "apps.read",
  "DELETE /v1/assets/:asset_id/edge/volumes/:name": "volumes.remove",

  "GET /v1/assets/:asset_id/tags": "fleets.read",
  "PUT /v1/assets/:asset_id/tags": "assets.tag",
  "PATCH /v1/assets/:asset_id/tags": "assets.tag",
  "DELETE /v1/assets/:asset_id/tags": "assets.tag",
  "GET /v1/assets/:asset_id/variables": "fleets.read",
  "PUT /v1/assets/:asset_id/variables": "assets.variables",
  "PATCH /v1/assets/:asset_id/variables": "assets.variables",
  "DELETE /v1/assets/:asset_id/variables": "assets.variables",
  "GET /v1/assets/:asset_id/hold": "fleets.read",
  "PUT /v1/assets/:asset_id/hold": "assets.hold",
  "DELETE /v1/assets/:asset_id/hold": "assets.hold",

  "GET /v1/fleets": "fleets.read",
  "POST /v1/fleets": "fleets.manage",
  "GET /v1/fleets/:fleet": "fleets.read",
  "PATCH /v1/fleets/:fleet": "fleets.manage",
  "DELETE /v1/fleets/:fleet": "fleets.remove",
  "GET /v1/fleets/:fleet/members": "fleets.read",
  "POST /v1/fleets/:fleet/reapply": "fleets.roll_out",
  "GET /v1/fleets/:fleet/revisions": "fleets.read",
  "POST /v1/fleets/:fleet/revisions": "fleets.manage",
  "GET /v1/fleets/:fleet/revisions/:number": "fleets.read",
  "GET /v1/fleets/:fleet/revisions/:number/diff/:other": "fleets.read",
  "GET /v1/fleets/:fleet/rollouts": "fleets.read",
  "POST /v1/fleets/:fleet/rollouts": "fleets.roll_out",
  "GET /v1/fleets/:fleet/rollouts/:rollout_id": "fleets.read",
  "POST /v1/fleets/:fleet/rollouts/:rollout_id/pause": "fleets.roll_out",
  "POST /v1/fleets/:fleet/rollouts/:rollout_id/resume": "fleets.roll_out",
  "POST /v1/fleets/:fleet/rollouts/:rollout_id/advance": "fleets.roll_out",
  "POST /v1/fleets/:fleet/rollouts/:rollout_id/approve": "fleets.roll_out",
  "POST /v1/fleets/:fleet/rollouts/:rollout_id/cancel": "fleets.roll_out",
  "POST /v1/fleets/:fleet/rollouts/:rollout_id/rollback": "fleets.roll_out",
  "POST /v1/fleets/:fleet/rollouts/:rollout_id/retry": "fleets.roll_out",
  "GET /v1/fleets/:fleet/rollouts/:rollout_id/targets": "fleets.read",
  "GET /v1/fleets/:fleet/rollouts/:rollout_id/events": "fleets.read",

  "PATCH /assets/:asset_id/sim": "assets.connectivity",
  "PATCH /v1/assets/:asset_id/sim": "assets.connectivity",
  "GET /assets/:asset_id/sim/usages": "usage.read",
  "GET /v1/assets/:asset_id/sim/usages": "usage.read",
};

/** Fields of a request's body or query that need a permission besides that of the endpoint. */
export const FIELD_PERMISSIONS: Readonly<Record<string, Readonly<Record<string, RolePermission>>>> = {
  "POST /v1/assets": { accept: "assets.accept" },
  "POST /v1/bulk/assets": { accept: "assets.accept" },
  "PATCH /v1/assets/:asset_id": { type: "assets.tag", status: "assets.connectivity", supersim: "assets.connectivity" },
  // Values of the environment may be secrets. Those who deploy the app have set them.
  "GET /v1/assets/:asset_id/edge/apps/:name": { reveal: "apps.deploy" },
  "GET /v1/assets/:asset_id/variables": { reveal: "assets.variables" },
  "GET /v1/fleets/:fleet/revisions/:number": { reveal: "fleets.manage" },
  "POST /v1/fleets/:fleet/revisions": { agent: "agents.update" },
};

const FIELDS_BY_ENDPOINT: ReadonlyMap<string, ReadonlyMap<string, RolePermission>> = new Map(
  Object.entries(FIELD_PERMISSIONS).map(([endpoint, fields]) => [endpoint, new Map(Object.entries(fields))]),
);

/** The paths under which the table lists every endpoint. */
const LISTED_PATHS = /^(?:\/v1)?\/(?:assets|enrolments)(?:\/|$)|^\/v1\//;

/** Whether the table lists every endpoint with this path. */
export function isListed(path: string): boolean {
  return LISTED_PATHS.test(path);
}

/** Returns what the endpoint needs; `undefined` if the table does not list it. A HEAD request needs what GET does. */
export function requirementOf(method: string, path: string): Requirement | undefined {
  const key = endpointName(method, path);
  return Object.hasOwn(ENDPOINT_PERMISSIONS, key) ? ENDPOINT_PERMISSIONS[key] : undefined;
}

/** Returns the fields of the endpoint that need a further permission; `undefined` if there are none. */
export function fieldPermissionsOf(method: string, path: string): ReadonlyMap<string, RolePermission> | undefined {
  return FIELDS_BY_ENDPOINT.get(endpointName(method, path));
}

function endpointName(method: string, path: string): string {
  return `${method === "HEAD" ? "GET" : method} ${path}`;
}

/** Returns the endpoints, such as `GET /v1/assets`, that the table ought to list and does not. */
export function findUnlisted(endpoints: Iterable<{ readonly method: string; readonly path: string }>): string[] {
  const missing = [...endpoints].filter(
    ({ method, path }) => isListed(path) && requirementOf(method, path) === undefined,
  );
  return missing.map(({ method, path }) => `${method} ${path}`);
}
