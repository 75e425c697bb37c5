import type { Role } from "../../../src/control-plane/core/people/roles.ts";
import { appSpecSchema } from "../../../src/protocol/apps/app-spec.ts";

/*
 * What requests can bring about that must not be everybody's, by endpoint and by field, and which role that takes. An endpoint or
 * a field of the document that is not classified here fails test/integration/api/effects.test.ts.
 */

/** What must not be brought about by somebody below a role. */
export const FLOORS = {
  /** Something runs, stops or is removed on a device. */
  runs: "operator",
  /** Values that may be secret reach a device, or the caller. */
  delivers: "operator",
  /** An asset comes into a fleet or out of it. */
  joins: "operator",
  /** A device takes the place of the one in service. */
  replaces: "operator",
  /** A rollout is approved. By somebody else than its maker: see test/adversary/one-person.test.ts. */
  approves: "operator",
  /** People are told less of an alert. */
  quiets: "operator",
  /** What happens in the account is sent to another place. */
  tells: "admin",
  /** A rollout needs no approval where the fleet requires it. */
  waives: "admin",
  /** Somebody else gets access, or has it for longer. */
  grants: "admin",
} as const satisfies Record<string, Role>;
export type Effect = keyof typeof FLOORS;

type WithoutFloor =
  /** Nothing of these. */
  | "none"
  /** An operator has to accept the device before: see test/adversary/installer.test.ts. */
  | "after acceptance"
  /** The code, the password or the provider stands for the right. */
  | "by a secret"
  /** At most what the person may do, and it ends with the person's access. */
  | "for oneself";
export type Class = Effect | WithoutFloor;

/** Names separated by spaces. `x.**` stands for everything in `x`, only where the endpoint already delivers and runs. */
export type Names = string;

export interface Raised {
  readonly from: Role;
  readonly classes: readonly Class[];
  /** A request with the field, besides what the sample has. */
  readonly body?: object;
  readonly query?: string;
}

export interface Row {
  /** The lowest role that may call it; `self`: anybody who is known; `public`: anybody. */
  readonly from: Role | "self" | "public";
  /** What the endpoint brings about, whatever its fields are. */
  readonly classes: readonly Class[];
  readonly fields: Partial<Record<Class, Names>>;
  /** Fields that take a higher role. */
  readonly raised: Readonly<Record<string, Raised>>;
}

const row = (
  from: Row["from"],
  classes: Class | readonly Class[] = "none",
  fields: Row["fields"] = {},
  raised: Row["raised"] = {},
): Row => ({ from, classes: [classes].flat(), fields, raised });
const read = (from: Row["from"], none = ""): Row => row(from, "none", { none });

const names = (of: string, fields: string): string =>
  fields
    .split(" ")
    .map((field) => `${of}.${field}`)
    .join(" ");
const PAGE = "?limit ?cursor";
const WAVES =
  "strategy.waves strategy.waves.limit strategy.waves.selector strategy.waves.by strategy.waves.assets strategy.waves.soak_s " +
  "strategy.waves.advance";
const windows = (name: string): string =>
  ["", ".days", ".from", ".to", ".zone"].map((end) => `strategy.${name}${end}`).join(" ");
/** How a rollout goes, without whether it needs approval. */
const STRATEGY =
  `strategy ${WAVES} strategy.soak_s strategy.max_parallel strategy.stop_when strategy.stop_when.failed ` +
  `strategy.stop_when.min_attempted strategy.on_stop strategy.attempts strategy.offline_after_s strategy.lost_after_s ` +
  `strategy.max_download_bytes strategy.done_at strategy.refused ${windows("windows")} ${windows("download_windows")}`;
/** What a deployment says of its app beside its name and its values, and how it is carried out. */
const APP = [
  ...Object.keys(appSpecSchema.shape)
    .filter((field) => !["name", "environments", "files"].includes(field))
    .map((field) => `${field}.**`),
  "max_download_bytes urgent wait_for_device_s ?dry_run",
].join(" ");
const VALUES = "environments.** files.** registry_auth.**";

export const TABLE: Readonly<Record<string, Row>> = {
  "GET /v1/assets": read(
    "viewer",
    `${PAGE} ?status ?type ?selector ?connected ?accepted ?attention ?agent_version ?q ?sort ?updated_since`,
  ),
  "POST /v1/assets": row(
    "installer",
    "after acceptance",
    {
      none:
        "serial_number name supersim supersim.sid supersim.iccid supersim.network_group prosim prosim.imsi prosim.iccid " +
        "prosim.service_profile",
      "after acceptance": "type",
    },
    { accept: { from: "operator", classes: ["delivers", "runs", "joins"], body: { accept: true } } },
  ),
  "POST /v1/bulk/assets": row(
    "installer",
    "after acceptance",
    {
      none:
        "?dry_run assets assets.serial_number assets.name assets.supersim assets.supersim.sid assets.supersim.iccid " +
        "assets.supersim.network_group assets.prosim assets.prosim.imsi assets.prosim.iccid assets.prosim.service_profile",
      "after acceptance": "assets.type",
    },
    { accept: { from: "operator", classes: ["delivers", "runs", "joins"], body: { accept: true } } },
  ),
  "POST /v1/bulk/tags": row("operator", "joins", {
    none: "?dry_run assets assets.asset_id assets.if_match",
    joins: "assets.tags assets.tags.* assets.replace",
  }),
  "GET /v1/assets/{asset_id}": read("viewer"),
  "PATCH /v1/assets/{asset_id}": row(
    "installer",
    "none",
    { none: "name" },
    {
      type: { from: "operator", classes: ["joins"], body: { type: "kiosk" } },
      status: { from: "operator", classes: ["none"], body: { status: "inactive" } },
      supersim: { from: "operator", classes: ["none"], body: { supersim: {} } },
      "supersim.network_group": { from: "operator", classes: ["none"], body: { supersim: { network_group: "x" } } },
    },
  ),
  "DELETE /v1/assets/{asset_id}": row("admin", "joins"),
  "POST /v1/assets/{asset_id}/accept": row("operator", ["delivers", "runs", "joins"]),
  // Of an asset whose device has been connected, as that of this test.
  "POST /v1/assets/{asset_id}/enrolment-codes": row("operator", "replaces", { none: "valid_s" }),
  "GET /v1/enrolment-settings": read("viewer"),
  "PATCH /v1/enrolment-settings": row("admin", ["delivers", "runs"], { delivers: "auto_accept" }),
  "POST /v1/enrolments": row("public", "by a secret", { "by a secret": "code", none: "nonce" }),
  "GET /v1/assets/{asset_id}/tags": read("viewer"),
  "PUT /v1/assets/{asset_id}/tags": row("operator", "joins", { joins: "*" }),
  "PATCH /v1/assets/{asset_id}/tags": row("operator", "joins", { joins: "*" }),
  "DELETE /v1/assets/{asset_id}/tags": row("operator", "joins"),
  "GET /v1/assets/{asset_id}/variables": row(
    "viewer",
    "none",
    {},
    {
      "?reveal": { from: "operator", classes: ["delivers"], query: "reveal=values" },
    },
  ),
  "PUT /v1/assets/{asset_id}/variables": row("operator", "delivers", { delivers: "* *.value *.secret" }),
  "PATCH /v1/assets/{asset_id}/variables": row("operator", "delivers", { delivers: "* *.value *.secret" }),
  "DELETE /v1/assets/{asset_id}/variables": row("operator", "delivers"),
  "GET /v1/assets/{asset_id}/hold": read("viewer"),
  "PUT /v1/assets/{asset_id}/hold": row("operator", "runs", { none: "reason", runs: "until" }),
  "DELETE /v1/assets/{asset_id}/hold": row("operator", "runs"),
  "GET /v1/network-groups": read("viewer"),
  "GET /v1/agent-releases": read("viewer"),
  "GET /v1/agent-settings": read("viewer"),
  "PATCH /v1/agent-settings": row("admin", "grants", { grants: "operators_update" }),
  "GET /v1/alerts": read("viewer", `${PAGE} ?state ?condition ?severity ?selector ?asset ?group`),
  "POST /v1/alerts/{alert_id}/acknowledge": row("operator", "quiets"),
  "POST /v1/alert-groups/{group_id}/acknowledge": row("operator", "quiets"),
  "GET /v1/silences": read("viewer", `${PAGE} ?asset`),
  "POST /v1/silences": row("operator", "quiets", { quiets: "reason until selector asset conditions" }),
  "DELETE /v1/silences/{silence_id}": row("operator"),
  "GET /v1/alert-deliveries": read("operator", `${PAGE} ?channel ?state`),
  "GET /v1/alert-settings": read("admin"),
  "PUT /v1/alert-settings": row("admin", ["tells", "quiets"], {
    quiets: `rules ${names("rules", "condition selector enabled severity for_s above below older_than")}`,
    tells:
      `routes routes.* ${names("routes.*", "conditions selector severities channels for_s group_wait_s repeat_s send_resolved")} ` +
      `routes.*.quiet_hours ${names("routes.*.quiet_hours", "from to time_zone except_critical")} ` +
      `channels channels.* ${names("channels.*", "kind url secrets to routing_key token")}`,
  }),
  "POST /v1/alert-channels/{name}/test": row("admin", "tells"),

  "GET /v1/fleets": read("viewer", PAGE),
  "POST /v1/fleets": row("operator", ["joins", "runs"], {
    none: `name apps ${STRATEGY} strategy.requires_approval`,
    joins: "selector",
    runs: "on_drift",
  }),
  "GET /v1/fleets/{fleet}": read("viewer"),
  "PATCH /v1/fleets/{fleet}": row(
    "operator",
    "joins",
    { none: `name ${STRATEGY}`, joins: "selector apps", runs: "paused_reason on_drift" },
    {
      "strategy.requires_approval": {
        from: "admin",
        classes: ["waives"],
        body: { strategy: { requires_approval: false } },
      },
    },
  ),
  "DELETE /v1/fleets/{fleet}": row("admin", ["joins", "waives"]),
  "GET /v1/fleets/{fleet}/members": read("viewer", `${PAGE} ?state`),
  "POST /v1/fleets/{fleet}/reapply": row("operator", ["runs", "delivers"], {
    runs: "asset_ids states",
    none: "?dry_run",
  }),
  "GET /v1/fleets/{fleet}/revisions": read("viewer", PAGE),
  "POST /v1/fleets/{fleet}/revisions": row(
    "operator",
    ["runs", "delivers"],
    {
      runs: "apps.** agent.version",
      delivers: "registry_auth.**",
      none: "comment",
    },
    {
      agent: { from: "admin", classes: ["runs"], body: { agent: { version: "1.5.0" } } },
    },
  ),
  "GET /v1/fleets/{fleet}/revisions/{number}": row(
    "viewer",
    "none",
    {},
    {
      "?reveal": { from: "operator", classes: ["delivers"], query: "reveal=environments" },
    },
  ),
  "GET /v1/fleets/{fleet}/revisions/{number}/diff/{other}": read("viewer"),
  "GET /v1/fleets/{fleet}/rollouts": read("viewer", PAGE),
  "POST /v1/fleets/{fleet}/rollouts": row(
    "operator",
    ["runs", "delivers"],
    { delivers: "?dry_run ?ask_devices", runs: `revision plan_id start ${STRATEGY}` },
    {
      "strategy.requires_approval": {
        from: "admin",
        classes: ["waives"],
        body: { strategy: { requires_approval: false } },
      },
    },
  ),
  "GET /v1/fleets/{fleet}/rollouts/{rollout_id}": read("viewer"),
  "POST /v1/fleets/{fleet}/rollouts/{rollout_id}/pause": row("operator", "runs", { none: "?dry_run" }),
  "POST /v1/fleets/{fleet}/rollouts/{rollout_id}/resume": row("operator", ["runs", "delivers"], { none: "?dry_run" }),
  "POST /v1/fleets/{fleet}/rollouts/{rollout_id}/advance": row("operator", ["runs", "delivers"], {
    none: "?dry_run ?wave",
  }),
  "POST /v1/fleets/{fleet}/rollouts/{rollout_id}/approve": row("operator", ["approves", "runs", "delivers"], {
    none: "?dry_run",
  }),
  "POST /v1/fleets/{fleet}/rollouts/{rollout_id}/cancel": row("operator", "runs", { none: "?dry_run" }),
  "POST /v1/fleets/{fleet}/rollouts/{rollout_id}/rollback": row("operator", ["runs", "delivers"], { none: "?dry_run" }),
  "POST /v1/fleets/{fleet}/rollouts/{rollout_id}/retry": row("operator", ["runs", "delivers"], { none: "?dry_run" }),
  "GET /v1/fleets/{fleet}/rollouts/{rollout_id}/targets": read("viewer", `${PAGE} ?state ?wave ?failed`),
  "GET /v1/fleets/{fleet}/rollouts/{rollout_id}/events": read("viewer", "?after"),

  "GET /v1/assets/{asset_id}/edge/apps": read("viewer"),
  "POST /v1/assets/{asset_id}/edge/apps": row("operator", ["runs", "delivers"], {
    runs: `name ${APP}`,
    delivers: VALUES,
  }),
  "POST /v1/assets/{asset_id}/edge/apply": row("operator", ["runs", "delivers"], {
    runs: "?dry_run project apps.** adopt prune remove on_failure expect max_download_bytes urgent wait_for_device_s",
    delivers: "registry_auth.**",
  }),
  "POST /v1/assets/{asset_id}/edge/agent": row("admin", ["runs", "delivers"], {
    runs: "?dry_run version image downgrade again max_download_bytes urgent wait_for_device_s",
    delivers: "registry_auth.**",
  }),
  "GET /v1/assets/{asset_id}/edge/apps/{name}": row(
    "viewer",
    "none",
    {},
    {
      "?reveal": { from: "operator", classes: ["delivers"], query: "reveal=environments" },
    },
  ),
  "PATCH /v1/assets/{asset_id}/edge/apps/{name}": row("operator", ["runs", "delivers"], {
    runs: `name ${APP}`,
    delivers: VALUES,
  }),
  "DELETE /v1/assets/{asset_id}/edge/apps/{name}": row("operator", "runs", { runs: "?wait_for_device_s" }),
  "POST /v1/assets/{asset_id}/edge/apps/{name}/start": row("operator", "runs", { runs: "?wait_for_device_s" }),
  "POST /v1/assets/{asset_id}/edge/apps/{name}/stop": row("operator", "runs", { runs: "?wait_for_device_s" }),
  "POST /v1/assets/{asset_id}/edge/apps/{name}/restart": row("operator", "runs", { runs: "?wait_for_device_s" }),
  // What an app prints is the app's. Values that were declared secret are masked in it.
  "GET /v1/assets/{asset_id}/edge/apps/{name}/logs": read("installer", "?tail ?since ?follow ?previous"),
  "GET /v1/deployments": read("viewer", `${PAGE} ?status ?app ?selector ?since ?updated_since`),
  "GET /v1/assets/{asset_id}/edge/deployments": read("viewer", PAGE),
  "GET /v1/assets/{asset_id}/edge/deployments/{deployment_id}": read("viewer"),
  "GET /v1/assets/{asset_id}/edge/deployments/{deployment_id}/events": read("viewer", "?after"),
  "DELETE /v1/assets/{asset_id}/edge/deployments/{deployment_id}": row("operator", "runs"),
  "GET /v1/assets/{asset_id}/edge/device": read("viewer"),
  "GET /v1/assets/{asset_id}/edge/stats": read("viewer", "?app ?follow ?interval_s"),
  "GET /v1/assets/{asset_id}/edge/data-usage": read("viewer", "?from ?to"),
  "GET /v1/uploads": read("viewer"),
  "PUT /v1/uploads/{sha256}/pieces/{number}": row("operator", "none", { none: "bytes content_base64" }),
  "GET /v1/assets/{asset_id}/edge/volumes": read("viewer", "?size"),
  "DELETE /v1/assets/{asset_id}/edge/volumes/{name}": row("operator", "runs"),

  "GET /v1/assets/{asset_id}/sims/{sim_type}/usages": read("viewer", "?start_time ?end_time ?granularity"),
  "GET /v1/assets/{asset_id}/connectivity": read("viewer", `${PAGE} ?from ?to ?format`),
  "GET /v1/assets/{asset_id}/uptime": read("viewer", "?from ?to ?per ?format"),
  "GET /v1/assets/{asset_id}/health": read("viewer", "?from ?to ?points ?source ?apps ?format"),
  "GET /v1/uptime": read("viewer", `${PAGE} ?from ?to ?selector ?fleet ?format`),
  "GET /v1/metrics/devices": read("viewer", "?selector"),
  "GET /v1/usages": read("viewer", `${PAGE} ?start_time ?end_time ?granularity`),
  "GET /v1/sims": read("viewer", `${PAGE} ?type ?attention`),
  "GET /v1/assets/{asset_id}/sims": read("viewer"),
  "POST /v1/assets/{asset_id}/sims/{sim_type}/refresh": row("operator"),
  "GET /v1/assets/{asset_id}/sims/{sim_type}/allowance": read("viewer"),
  "PUT /v1/assets/{asset_id}/sims/{sim_type}/allowance": row("operator", "none", { none: "bytes" }),
  "DELETE /v1/assets/{asset_id}/sims/{sim_type}/allowance": row("operator"),
  "GET /v1/data-plan-settings": read("viewer"),
  "PATCH /v1/data-plan-settings": row("admin", "none", { none: "deployments" }),
  "GET /assets/{asset_id}/sim/usages": read("viewer", "?start_time ?end_time ?granularity"),
  "GET /v1/assets/{asset_id}/sim/usages": read("viewer", "?start_time ?end_time ?granularity"),
  "PATCH /assets/{asset_id}/sim": row("operator", "none", { none: "status network_group" }),
  "PATCH /v1/assets/{asset_id}/sim": row("operator", "none", { none: "status network_group" }),

  "GET /v1/overview": read("viewer"),
  "GET /v1/events": read("viewer", "?after ?types ?app ?selector"),
  "GET /v1/audit": read("admin", `${PAGE} ?actor ?action ?asset ?outcome ?since ?until`),
  "GET /v1/sign-in-settings": read("admin"),
  "GET /v1/users": read("admin", PAGE),
  "GET /v1/users/{user_id}": read("admin"),
  "POST /v1/users": row("admin", "grants", { grants: "email role", none: "name" }),
  "PATCH /v1/users/{user_id}": row("admin", "grants", { grants: "role disabled", none: "name" }),
  "DELETE /v1/users/{user_id}": row("admin"),
  "POST /v1/users/{user_id}/reset": row("admin", "grants"),
  "GET /v1/api-keys": read("admin", PAGE),
  "GET /v1/api-keys/{key_id}": read("admin"),
  // At most until the key ends that makes it: see test/adversary/one-person.test.ts.
  "POST /v1/api-keys": row("admin", "grants", { grants: "role expires_at permissions belongs_to", none: "name" }),
  "PATCH /v1/api-keys/{key_id}": row("admin", "grants", { grants: "expires_at", none: "name" }),
  "DELETE /v1/api-keys/{key_id}": row("admin"),

  "GET /v1/session": read("self"),
  "DELETE /v1/session": row("self"),
  "PUT /v1/session/password": row("self", "for oneself", {
    "for oneself": "password",
    "by a secret": "current_password",
  }),
  "GET /v1/device-logins/{user_code}": read("self"),
  "POST /v1/device-logins/{user_code}": row("self", "for oneself", { "for oneself": "decision role expires_at" }),
  "POST /v1/device-logins": row("public", "none", { none: "client_name" }),
  "POST /v1/device-logins/token": row("public", "by a secret", { "by a secret": "device_code" }),
  "GET /v1/oidc/start": read("public", "?next"),
  "GET /v1/oidc/callback": row("public", "by a secret", { "by a secret": "?state" }),
  "GET /v1/sign-in": read("public"),
  "POST /v1/session": row("public", "by a secret", { "by a secret": "email password" }),
  "POST /v1/setup": row("public", "by a secret", { "by a secret": "code", none: "account_name email name password" }),
  "POST /v1/invitations": row("public", "by a secret", { "by a secret": "code", none: "name password" }),
  "GET /healthz": read("public"),
  "GET /readyz": read("public"),
};
