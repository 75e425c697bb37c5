import { formatTime } from "../../parts/durations.ts";

/** Groups of actions of the audit log, by the beginning of their names. */
export const ACTION_GROUPS = [
  { value: "account.", label: "account" },
  { value: "setup_code.", label: "set-up codes" },
  { value: "session.", label: "sessions" },
  { value: "password.", label: "passwords" },
  { value: "user.", label: "people" },
  { value: "invitation.", label: "invitations" },
  { value: "key.", label: "API keys" },
  { value: "login.", label: "log-ins of programs" },
  { value: "access.", label: "refused access" },
  { value: "settings.", label: "settings" },
  { value: "asset.", label: "assets" },
  { value: "asset_variables.", label: "variables of assets" },
  { value: "enrolment_code.", label: "enrolment codes" },
  { value: "device.", label: "devices" },
  { value: "sim.", label: "SIMs" },
  { value: "allowance.", label: "allowances of SIMs" },
  { value: "sim_operator.", label: "credentials at SIM operators" },
  { value: "network_group.", label: "network groups" },
  { value: "usage.", label: "usage" },
  { value: "agent_release.", label: "releases of the agent" },
  { value: "upload.", label: "uploads" },
  { value: "deployment.", label: "deployments" },
  { value: "fleet.", label: "fleets" },
  { value: "revision.", label: "revisions of fleets" },
  { value: "rollout.", label: "rollouts" },
  { value: "alert.", label: "alerts" },
  { value: "alert_settings.", label: "settings of alerts" },
  { value: "alert_channel.", label: "channels of alerts" },
  { value: "silence.", label: "silences of alerts" },
  { value: "volume.", label: "volumes" },
  { value: "remote_access.", label: "remote access" },
] as const;

/** Returns names and texts of an entry's details, without those that say nothing, such as the type of an asset without one. */
export function shownDetails(details: Readonly<Record<string, unknown>>): (readonly [name: string, text: string])[] {
  return Object.entries(details)
    .filter(([, value]) => !isEmpty(value))
    .map(([name, value]) => [name, formatDetail(name, value)]);
}

/** Times of the API have names with `_at`. */
function formatDetail(name: string, value: unknown): string {
  if (name.endsWith("_at") && typeof value === "number") return formatTime(value);
  return typeof value === "string" ? value : JSON.stringify(value);
}

function isEmpty(value: unknown): boolean {
  if (typeof value !== "object") return value === undefined || value === "";
  return value === null || Object.keys(value).length === 0;
}
