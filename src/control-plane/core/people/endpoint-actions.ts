import type { AuditAction } from "./audit-actions.ts";

/**
 * What a request that changes something is in the audit log, by method and path. The server does not start with such an
 * endpoint that is not in this table.
 */
export const ENDPOINT_ACTIONS: Readonly<Record<string, AuditAction>> = {
  "POST /v1/enrolments": "device.enrolled",
  "POST /v1/assets": "asset.registered",
  "POST /v1/bulk/assets": "asset.registered",
  "POST /v1/bulk/tags": "asset.tagged",
  "PATCH /v1/assets/:asset_id": "asset.changed",
  "DELETE /v1/assets/:asset_id": "asset.removed",
  "PATCH /assets/:asset_id/sim": "asset.changed",
  "PATCH /v1/assets/:asset_id/sim": "asset.changed",
  "POST /v1/assets/:asset_id/enrolment-codes": "enrolment_code.created",
  "POST /v1/assets/:asset_id/accept": "asset.accepted",
  "PATCH /v1/enrolment-settings": "settings.changed",
  "PATCH /v1/agent-settings": "settings.changed",
  "POST /v1/assets/:asset_id/edge/apps": "deployment.requested",
  "POST /v1/assets/:asset_id/edge/apply": "deployment.requested",
  "POST /v1/assets/:asset_id/edge/agent": "deployment.requested",
  "PATCH /v1/assets/:asset_id/edge/apps/:name": "deployment.requested",
  "DELETE /v1/assets/:asset_id/edge/apps/:name": "deployment.requested",
  "POST /v1/assets/:asset_id/edge/apps/:name/start": "deployment.requested",
  "POST /v1/assets/:asset_id/edge/apps/:name/stop": "deployment.requested",
  "POST /v1/assets/:asset_id/edge/apps/:name/restart": "deployment.requested",
  "PUT /v1/uploads/:sha256/pieces/:number": "upload.added",
  "DELETE /v1/assets/:asset_id/edge/deployments/:deployment_id": "deployment.cancelled",
  "DELETE /v1/assets/:asset_id/edge/volumes/:name": "volume.removed",
  "PUT /v1/assets/:asset_id/sims/:sim_type/allowance": "allowance.set",
  "DELETE /v1/assets/:asset_id/sims/:sim_type/allowance": "allowance.removed",
  "PATCH /v1/data-plan-settings": "settings.changed",
  "PUT /v1/assets/:asset_id/tags": "asset.tagged",
  "PATCH /v1/assets/:asset_id/tags": "asset.tagged",
  "DELETE /v1/assets/:asset_id/tags": "asset.tagged",
  "PUT /v1/assets/:asset_id/variables": "asset_variables.changed",
  "PATCH /v1/assets/:asset_id/variables": "asset_variables.changed",
  "DELETE /v1/assets/:asset_id/variables": "asset_variables.changed",
  "PUT /v1/assets/:asset_id/hold": "asset.held",
  "DELETE /v1/assets/:asset_id/hold": "asset.released",
  "POST /v1/fleets": "fleet.created",
  "PATCH /v1/fleets/:fleet": "fleet.changed",
  "DELETE /v1/fleets/:fleet": "fleet.removed",
  "POST /v1/fleets/:fleet/reapply": "fleet.reapplied",
  "POST /v1/fleets/:fleet/revisions": "revision.created",
  "POST /v1/fleets/:fleet/rollouts": "rollout.created",
  "POST /v1/fleets/:fleet/rollouts/:rollout_id/pause": "rollout.paused",
  "POST /v1/fleets/:fleet/rollouts/:rollout_id/resume": "rollout.resumed",
  "POST /v1/fleets/:fleet/rollouts/:rollout_id/advance": "rollout.advanced",
  "POST /v1/fleets/:fleet/rollouts/:rollout_id/approve": "rollout.approved",
  "POST /v1/fleets/:fleet/rollouts/:rollout_id/cancel": "rollout.cancelled",
  "POST /v1/fleets/:fleet/rollouts/:rollout_id/rollback": "rollout.reverted",
  "POST /v1/fleets/:fleet/rollouts/:rollout_id/retry": "rollout.created",
  "POST /v1/alerts/:alert_id/acknowledge": "alert.acknowledged",
  "POST /v1/alert-groups/:group_id/acknowledge": "alert.acknowledged",
  "POST /v1/silences": "silence.created",
  "DELETE /v1/silences/:silence_id": "silence.ended",
  "PUT /v1/alert-settings": "alert_settings.changed",
  "POST /v1/alert-channels/:name/test": "alert_channel.tested",
  "POST /v1/setup": "user.created",
  "POST /v1/session": "session.opened",
  "DELETE /v1/session": "session.closed",
  "PUT /v1/session/password": "password.changed",
  "POST /v1/invitations": "invitation.accepted",
  "POST /v1/users": "user.invited",
  "PATCH /v1/users/:user_id": "user.changed",
  "DELETE /v1/users/:user_id": "user.removed",
  "POST /v1/users/:user_id/reset": "user.reset",
  "POST /v1/api-keys": "key.created",
  "PATCH /v1/api-keys/:key_id": "key.changed",
  "DELETE /v1/api-keys/:key_id": "key.revoked",
  "POST /v1/device-logins/:user_code": "login.decided",
  "POST /v1/device-logins/token": "key.created",
};

/** Endpoints that change nothing of an account. */
const WITHOUT_ENTRY: ReadonlySet<string> = new Set([
  // Belongs to no account until a person confirms it.
  "POST /v1/device-logins",
  // A difference that it finds has an entry of the service, like one that the daily reading finds.
  "POST /v1/assets/:asset_id/sims/:sim_type/refresh",
]);

const READING = new Set(["GET", "HEAD", "OPTIONS"]);

/** Returns the action of the endpoint; `undefined` if it is not one that changes something. */
export function actionOf(method: string, path: string): AuditAction | undefined {
  const key = `${method} ${path}`;
  return Object.hasOwn(ENDPOINT_ACTIONS, key) ? ENDPOINT_ACTIONS[key] : undefined;
}

/** Returns the endpoints that change something and have no action in the table. */
export function findWithoutAction(endpoints: Iterable<{ readonly method: string; readonly path: string }>): string[] {
  const names = [...endpoints]
    .filter(({ method }) => !READING.has(method))
    .map(({ method, path }) => `${method} ${path}`);
  return names.filter((name) => !Object.hasOwn(ENDPOINT_ACTIONS, name) && !WITHOUT_ENTRY.has(name));
}
