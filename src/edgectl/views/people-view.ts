import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { type Column, renderFields, renderTable } from "../../lib/terminal/table.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import { formatTime } from "../../lib/terminal/time.ts";
import type { AuditEntry, Key, User } from "../api/people.ts";

const timeOr = (seconds: number | null, otherwise: string): string =>
  seconds === null ? otherwise : formatTime(seconds);

/** @param now Unix seconds */
export function renderKeys(keys: readonly Key[], now: number, theme: Theme, width: number | undefined): string {
  if (keys.length === 0) return "No API keys.";
  const columns: Column<Key>[] = [
    { header: "ID", cell: ({ id }) => sanitizeLine(id) },
    { header: "NAME", cell: ({ name }) => sanitizeLine(name), canShrink: true },
    {
      header: "ROLE",
      cell: ({ role, permissions }) => sanitizeLine([role, ...permissions].join(" + ")),
      canShrink: true,
    },
    { header: "BELONGS TO", cell: ({ belongs_to: owner }) => sanitizeLine(owner ?? "-") },
    { header: "LAST USED", cell: (key) => timeOr(key.last_used_at, "never") },
    { header: "EXPIRES", cell: (key) => timeOr(key.expires_at, "never") },
    {
      header: "STATE",
      cell: (key) => stateOf(key, now),
      paint: (text, key) => (stateOf(key, now) === "valid" ? theme.green(text) : theme.dim(text)),
    },
  ];
  return renderTable(columns, keys, theme, width);
}

function stateOf({ revoked_at, expires_at }: Key, now: number): string {
  if (revoked_at !== null) return "revoked";
  return expires_at !== null && expires_at <= now ? "expired" : "valid";
}

export function renderUsers(users: readonly User[], theme: Theme, width: number | undefined): string {
  if (users.length === 0) return "No users.";
  const columns: Column<User>[] = [
    { header: "ID", cell: ({ id }) => sanitizeLine(id) },
    { header: "ADDRESS", cell: ({ email }) => sanitizeLine(email), canShrink: true },
    { header: "NAME", cell: ({ name }) => sanitizeLine(name), canShrink: true },
    { header: "ROLE", cell: ({ role }) => sanitizeLine(role) },
    { header: "STATE", cell: ({ state }) => sanitizeLine(state) },
    { header: "LAST SIGN-IN", cell: (user) => timeOr(user.last_sign_in_at, "never") },
  ];
  return renderTable(columns, users, theme, width);
}

export function renderUser(user: User, theme: Theme): string {
  const fields: [string, string][] = [
    ["ID", sanitizeLine(user.id)],
    ["Address", sanitizeLine(user.email)],
    ["Name", sanitizeLine(user.name)],
    ["Role", sanitizeLine(user.role)],
    ["State", sanitizeLine(user.state)],
  ];
  return renderFields(fields, theme);
}

export function renderAudit(entries: readonly AuditEntry[], theme: Theme, width: number | undefined): string {
  if (entries.length === 0) return "No entries.";
  const columns: Column<AuditEntry>[] = [
    { header: "TIME", cell: ({ timestamp }) => formatTime(timestamp) },
    { header: "WHO", cell: ({ actor }) => sanitizeLine(`${actor.kind} ${actor.name ?? actor.id}`), canShrink: true },
    { header: "FROM", cell: ({ source }) => sanitizeLine(source ?? "-"), canShrink: true },
    { header: "ACTION", cell: ({ action }) => sanitizeLine(action) },
    { header: "ON", cell: (entry) => sanitizeLine(objectOf(entry)), canShrink: true },
    {
      header: "OUTCOME",
      cell: ({ outcome }) => sanitizeLine(outcome),
      paint: (text, { outcome }) => (outcome === "ok" ? theme.dim(text) : theme.red(text)),
    },
    { header: "DETAILS", cell: ({ details }) => sanitizeLine(factsOf(details)), canShrink: true },
  ];
  return renderTable(columns, entries, theme, width);
}

function objectOf({ subject, app, asset_id }: AuditEntry): string {
  const parts = [subject ? (subject.name ?? subject.id) : undefined, app ?? undefined, asset_id ?? undefined];
  return [...new Set(parts.filter((part) => part !== undefined && part !== ""))].join(", ") || "-";
}

function factsOf(details: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(details).map(
    ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return parts.join(" ") || "-";
}
