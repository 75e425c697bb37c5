/** What a fact of an entry may be. Texts are clipped; anything else is left out. */
type FactKind = "text" | "texts" | "number" | "flag";

/** Facts that a refused attempt may have besides those of its action. */
const REFUSAL_FACTS = {
  /** How often it was tried in `COUNTED_TOGETHER_S`. */
  count: "number",
  /** The permission that was missing. */
  permission: "text",
} as const satisfies Record<string, FactKind>;

const REMOTE_ACCESS = {
  kind: "text",
  port: "number",
  program: "text",
  tty: "flag",
  path: "text",
  sent: "number",
  received: "number",
  seconds: "number",
  streams: "number",
} as const satisfies Record<string, FactKind>;

const SIM_FACTS = {
  sim_type: "text",
  status: "text",
  network_group: "text",
  operator_status: "text",
} as const satisfies Record<string, FactKind>;

/**
 * Every action of the audit log, `noun.verb`, with the facts that an entry of it may hold. The list is closed: a fact that
 * is not in it is not stored, so that no secret gets there by mistake.
 */
export const AUDIT_ACTIONS = {
  "account.created": {},
  "setup_code.created": { expires_at: "number" },
  "session.opened": { method: "text" },
  // `reason`: it ended for another session of the same browser, or as one too many. Absent at sign-out.
  "session.closed": { reason: "text" },
  "password.changed": { revoked_keys: "number" },
  "user.created": { role: "text" },
  "user.invited": { role: "text", expires_at: "number" },
  "user.changed": {
    name: "text",
    role: "text",
    disabled: "flag",
    linked: "flag",
    invited_role: "text",
    email: "text",
    revoked_keys: "number",
  },
  "user.reset": { expires_at: "number" },
  "user.removed": { revoked_keys: "number" },
  "invitation.accepted": { purpose: "text", revoked_keys: "number" },
  "key.created": {
    role: "text",
    expires_at: "number",
    permissions: "texts",
    belongs_to: "text",
    login: "flag",
    revoked_keys: "number",
  },
  "key.changed": { name: "text", expires_at: "number" },
  // How many others ended with it, that it has made.
  "key.revoked": { revoked_keys: "number" },
  "login.decided": { decision: "text", role: "text", expires_at: "number", client_name: "text", client_source: "text" },
  "settings.changed": { fields: "texts", deployments: "text", auto_accept: "flag", operators_update: "flag" },
  "asset.registered": {
    serial_number: "text",
    type: "text",
    network_group: "text",
    service_profile: "text",
    accepted: "flag",
  },
  "asset.changed": {
    name: "text",
    type: "text",
    status: "text",
    network_group: "text",
    changed: "texts",
    not_changed: "texts",
  },
  "asset.removed": { serial_number: "text" },
  "enrolment_code.created": { expires_at: "number", may_replace: "flag" },
  "device.enrolled": {},
  // It connected for the first time in the place of another one.
  "device.replaced": {},
  "asset.accepted": {},
  // The SIM's operator was asked: what it had queued is done, or it is otherwise than this service had it, or unknown there.
  "sim.settled": SIM_FACTS,
  "sim.corrected": SIM_FACTS,
  "sim.lost": SIM_FACTS,
  "sim.found": SIM_FACTS,
  // Its operator did not know it, and that of another account does, which has registered it.
  "sim.released": { sim_type: "text", iccid: "text" },
  "sim_operator.set": { sim_type: "text" },
  "sim_operator.removed": { sim_type: "text" },
  "allowance.set": { sim_type: "text", bytes: "number" },
  "allowance.removed": { sim_type: "text" },
  "network_group.added": {},
  "usage.imported": { imported: "number", unchanged: "number", skipped: "number" },
  // Of no account: releases are for the devices of all.
  "agent_release.added": { digest: "text" },
  "agent_release.removed": {},
  "upload.added": { bytes: "number" },
  "deployment.requested": {
    action: "text",
    image: "text",
    apps: "texts",
    removed: "texts",
    dry_run: "flag",
    wait_for_device_s: "number",
  },
  "deployment.cancelled": { had_ended: "flag" },
  "volume.removed": { volume: "text" },
  "asset.tagged": { set: "texts", removed: "texts" },
  // Names alone.
  "asset_variables.changed": { set: "texts", removed: "texts" },
  "asset.held": { reason: "text", until: "number" },
  "asset.released": {},
  "fleet.created": { selector: "text", apps: "texts" },
  "fleet.changed": { changed: "texts", selector: "text", apps: "texts" },
  "fleet.removed": {},
  "fleet.reapplied": { assets: "number" },
  "revision.created": { revision: "number", apps: "texts" },
  "rollout.created": { fleet: "text", revision: "number", targets: "number" },
  "rollout.approved": { fleet: "text" },
  "rollout.paused": { fleet: "text", reason: "text" },
  "rollout.resumed": { fleet: "text" },
  "rollout.advanced": { fleet: "text", wave: "number" },
  "rollout.cancelled": { fleet: "text" },
  "rollout.reverted": { fleet: "text", reason: "text" },
  "alert.acknowledged": { group: "text", alerts: "number", count: "number" },
  // Names alone, such as `routes.night` and `channels.ops`: neither addresses nor secrets.
  "alert_settings.changed": { changed: "texts", removed: "texts" },
  "alert_channel.tested": { delivered: "flag", answer: "text" },
  "silence.created": { reason: "text", selector: "text", asset: "text", conditions: "texts", until: "number" },
  "silence.ended": {},
  "rollout.priced": { fleet: "text", revision: "number", targets: "number" },
  // A read that was refused: reads that are not are no entries.
  "access.refused": { method: "text", endpoint: "text" },
  "remote_access.opened": REMOTE_ACCESS,
  "remote_access.closed": REMOTE_ACCESS,
  "remote_access.refused": REMOTE_ACCESS,
} as const satisfies Record<string, Readonly<Record<string, FactKind>>>;

export type AuditAction = keyof typeof AUDIT_ACTIONS;

/** Outcome of an action that was carried out. All others are codes of errors. */
export const OUTCOME_OK = "ok";

/** Time in which refused attempts of the same kind are one entry with a count, in seconds. */
export const COUNTED_TOGETHER_S = 600;

/** How long entries are kept, in seconds. */
export const AUDIT_RETENTION_S = 400 * 24 * 3600;

const MAX_TEXT_LENGTH = 256;
const MAX_TEXTS = 64;

/** Returns the actions with this name, or with this beginning if it ends with a dot, such as `key.`. */
export function actionsNamed(name: string): readonly AuditAction[] {
  const all = Object.keys(AUDIT_ACTIONS) as AuditAction[];
  return all.filter((action) => (name.endsWith(".") ? action.startsWith(name) : action === name));
}

/** Returns the facts that an entry of the action may hold. */
export function storableDetails(
  action: AuditAction,
  details: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const kinds: Readonly<Record<string, FactKind>> = { ...AUDIT_ACTIONS[action], ...REFUSAL_FACTS };
  const stored: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(details)) {
    const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
    const fact = kind && toFact(kind, value);
    if (fact !== undefined) stored[name] = fact;
  }
  return stored;
}

function toFact(kind: FactKind, value: unknown): unknown {
  switch (kind) {
    case "text":
      return typeof value === "string" ? clip(value) : undefined;
    case "texts":
      return Array.isArray(value)
        ? value
            .filter((each) => typeof each === "string")
            .slice(0, MAX_TEXTS)
            .map(clip)
        : undefined;
    case "number":
      return typeof value === "number" && Number.isFinite(value) ? value : undefined;
    case "flag":
      return typeof value === "boolean" ? value : undefined;
  }
}

/** At whole characters: half of one is no valid text. NUL cannot be stored. */
function clip(text: string): string {
  return text.slice(0, MAX_TEXT_LENGTH).toWellFormed().replaceAll("\0", "\uFFFD");
}
