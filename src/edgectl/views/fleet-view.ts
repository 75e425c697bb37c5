import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { type Column, renderFields, renderTable } from "../../lib/terminal/table.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import { formatTime } from "../../lib/terminal/time.ts";
import { padEnd } from "../../lib/terminal/width.ts";
import type { Fleet, ListedFleet, Member, Reapplied, Revision, RevisionDiff } from "../api/fleets.ts";
import type { FleetPlan } from "../fleets/plan.ts";
import { renderPlan } from "./plan-view.ts";

const list = (names: readonly string[]): string => sanitizeLine(names.join(", "));

export function renderFleets(fleets: readonly ListedFleet[], theme: Theme, width: number | undefined): string {
  if (fleets.length === 0) return "No fleets.";
  const columns: Column<ListedFleet>[] = [
    { header: "NAME", cell: ({ name }) => sanitizeLine(name) },
    { header: "SELECTOR", cell: ({ selector }) => sanitizeLine(selector), canShrink: true },
    { header: "APPS", cell: ({ apps }) => list(apps), canShrink: true },
    { header: "STABLE", cell: ({ stable_revision: stable }) => String(stable ?? "-"), align: "right" },
    { header: "NEWEST", cell: ({ last_revision: last }) => (last === 0 ? "-" : String(last)), align: "right" },
    { header: "ROLLOUT", cell: rolloutOf },
    { header: "ASSETS", cell: ({ states }) => sanitizeLine(memberCountsText(states)), canShrink: true },
    {
      header: "PAUSED",
      cell: ({ paused_reason: reason }) => sanitizeLine(reason ?? "-"),
      paint: (text, { paused_reason: reason }) => (reason === null ? text : theme.yellow(text)),
      canShrink: true,
    },
  ];
  return renderTable(columns, fleets, theme, width);
}

function rolloutOf({ latest_rollout: rollout }: ListedFleet): string {
  return rollout ? sanitizeLine(`${rollout.revision} ${rollout.state}`) : "-";
}

export function renderFleet(fleet: Fleet, theme: Theme): string {
  const { latest_rollout: rollout, stable_revision: stable, last_revision: last } = fleet;
  const strategy = Object.entries(fleet.strategy).map(([name, value]): [string, string] => [
    `  ${sanitizeLine(name)}`,
    sanitizeLine(typeof value === "string" ? value : JSON.stringify(value)),
  ]);
  const fields: [string, string][] = [
    ["Fleet", sanitizeLine(fleet.name)],
    ["Selector", sanitizeLine(fleet.selector)],
    ["Members", `${fleet.members ?? "-"}: ${sanitizeLine(memberCountsText(fleet.states))}`],
    ["Apps", list(fleet.apps)],
    ["Stable revision", String(stable ?? "-")],
    ["Newest revision", last === 0 ? "-" : String(last)],
    ["Newest rollout", rollout ? sanitizeLine(`${rollout.id} (revision ${rollout.revision}, ${rollout.state})`) : "-"],
    ["On drift", sanitizeLine(fleet.on_drift)],
    ["Paused", sanitizeLine(fleet.paused_reason ?? "-")],
    ["Created", `${formatTime(fleet.created_at)} UTC`],
    ["Strategy", ""],
    ...strategy,
  ];
  return renderFields(fields, theme);
}

export function renderMembers(members: readonly Member[], theme: Theme, width: number | undefined): string {
  if (members.length === 0) return "No members.";
  const columns: Column<Member>[] = [
    { header: "SERIAL NUMBER", cell: ({ serial_number: serial }) => sanitizeLine(serial) },
    { header: "ASSET", cell: ({ asset_name: name }) => sanitizeLine(name), canShrink: true },
    { header: "REVISION", cell: ({ revision }) => String(revision ?? "-"), align: "right" },
    {
      header: "STATE",
      cell: memberStateOf,
      paint: (text, { state }) => (TO_LOOK_AT.has(state) ? theme.yellow(text) : text),
    },
    { header: "SINCE", cell: ({ since }) => (since === null ? "-" : formatTime(since)) },
    { header: "ROLLOUT", cell: (member) => sanitizeLine(member.target_state ?? "-") },
    { header: "WHY", cell: (member) => sanitizeLine(whyOf(member)), canShrink: true },
  ];
  return renderTable(columns, members, theme, width);
}

const TO_LOOK_AT: ReadonlySet<string> = new Set(["drifted", "missing", "stopped_by_hand", "conflict", "outdated"]);

function memberStateOf({ state, for: reason, until }: Member): string {
  const what = reason === undefined ? state : `${state} for ${reason}`;
  return sanitizeLine(until === undefined ? what : `${what} until ${formatTime(until)}`);
}

const WHO: Readonly<Record<string, string>> = {
  local: "a command on the device",
  api: "the API",
  foreign: "another tool of the engine",
};

/** States that follow from an action of a person or a client. */
const BY_SOMEBODY: ReadonlySet<string> = new Set(["drifted", "missing", "stopped_by_hand"]);

function whyOf({ repair, ...member }: Member): string {
  const { state, message } = member;
  const by = byWhom(member);
  if (!repair) return message === null ? "-" : `${message}${by}`;
  const times = repair.count === 1 ? "once" : `${repair.count} times`;
  // Of one that is as it should be, nothing is planned.
  const next =
    repair.next_at === null
      ? "; left alone until a reapply"
      : TO_LOOK_AT.has(state)
        ? `; next at ${formatTime(repair.next_at)}`
        : "";
  return `${message ?? ""}${by} Repaired ${times}${next}.`.trim();
}

/** Such as ` By the API.`; empty where no user did anything. */
function byWhom({ state, differences }: Pick<Member, "state" | "differences">): string {
  const who = differences.map(({ by }) => by).find((by) => by !== null);
  if (who === undefined || who === null) return BY_SOMEBODY.has(state) ? " It is not known by whom." : "";
  return ` By ${WHO[who] ?? who}.`;
}

/** Such as `1980 current, 12 drifted`; what to look at comes first. */
function memberCountsText(states: Readonly<Record<string, number>>): string {
  const parts = Object.entries(states)
    .filter(([, count]) => count > 0)
    .toSorted(([one], [other]) => Number(TO_LOOK_AT.has(other)) - Number(TO_LOOK_AT.has(one)) || (one < other ? -1 : 1))
    .map(([state, count]) => `${count} ${state.replaceAll("_", " ")}`);
  return parts.join(", ") || "not judged yet";
}

/** Renders the members that are put right, with what is wrong with each. */
export function renderReapplied({ members }: Reapplied, theme: Theme, width: number | undefined): string {
  const columns: Column<Reapplied["members"][number]>[] = [
    { header: "SERIAL NUMBER", cell: ({ serial_number: serial }) => sanitizeLine(serial) },
    { header: "ASSET", cell: ({ asset_name: name }) => sanitizeLine(name), canShrink: true },
    { header: "STATE", cell: ({ state }) => sanitizeLine(state) },
    { header: "SINCE", cell: ({ since }) => (since === null ? "-" : formatTime(since)) },
    { header: "WHY", cell: (member) => sanitizeLine(`${member.message ?? "-"}${byWhom(member)}`), canShrink: true },
  ];
  return renderTable(columns, members, theme, width);
}

export function renderRevisions(revisions: readonly Revision[], theme: Theme, width: number | undefined): string {
  if (revisions.length === 0) return "No revisions.";
  const columns: Column<Revision>[] = [
    { header: "REVISION", cell: ({ number }) => String(number), align: "right" },
    { header: "CREATED", cell: ({ created_at: at }) => formatTime(at) },
    { header: "BY", cell: ({ created_by: by }) => sanitizeLine(by.name ?? by.id), canShrink: true },
    { header: "IMAGES", cell: imagesOf, canShrink: true },
    { header: "AGENT", cell: ({ agent }) => sanitizeLine(agent?.version ?? "-") },
    { header: "COMMENT", cell: ({ comment }) => sanitizeLine(comment ?? "-"), canShrink: true },
  ];
  return renderTable(columns, revisions, theme, width);
}

function imagesOf({ apps }: Revision): string {
  return list(apps.map(({ name, image, written_image: written }) => written ?? image ?? `${name} absent`));
}

const CHANGES: Readonly<Record<string, string>> = {
  added: "new",
  changed: "changes",
  removed: "removed from devices",
  not_named: "not named; stays as it is",
  same: "nothing differs",
};

export function renderRevisionDiff({ apps, agent }: RevisionDiff, theme: Theme): string {
  const width = Math.max(0, ...apps.map(({ app }) => app.length));
  const ofAgent = agent ? [`Agent: ${sanitizeLine(agent.from ?? "any")} to ${sanitizeLine(agent.to ?? "any")}`] : [];
  const ofApps = apps.flatMap(({ app, change, fields }) => [
    `${theme.bold(padEnd(sanitizeLine(app), width))}  ${sanitizeLine(CHANGES[change] ?? change)}`,
    ...fields.map((field) => `  ${theme.yellow(`~ ${sanitizeLine(field)}`)}`),
  ]);
  return [...ofApps, ...ofAgent].join("\n");
}

/** Renders what a file does: the fleet's fields, then each app, then the agent. */
export function renderFleetPlan({ fleet, change, fields, apps, agent }: FleetPlan, theme: Theme): string {
  const ofAgent = { app: "agent", change: "update", fields: agent, unknown_fields: [] } as const;
  const all = [{ app: `fleet ${fleet}`, change, fields, unknown_fields: [] }, ...apps];
  return renderPlan(agent.length === 0 ? all : [...all, ofAgent], theme);
}
