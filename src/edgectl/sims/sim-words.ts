import { formatBytes } from "../../lib/terminal/bytes.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { formatDuration, formatMinute } from "../../lib/terminal/time.ts";
import type { PendingChange } from "../api/sims.ts";
import type { Sim } from "../api/sims.ts";

const NAMES: ReadonlyMap<string, string> = new Map([
  ["supersim", "Super SIM"],
  ["prosim", "PRO SIM"],
]);
const HOUR = 3600;
const DAY = 24 * HOUR;
const MAX_AGE_IN_HOURS = 2 * DAY;

/** Returns the name of a type of SIM for people, safe to print. */
export function simName(type: string): string {
  return NAMES.get(type) ?? sanitizeLine(type);
}

/** `12 min ago`. @param now Unix seconds */
export function ageText(at: number, now: number): string {
  const age = Math.max(0, now - at);
  if (age >= MAX_AGE_IN_HOURS) return `${Math.floor(age / DAY)} days ago`;
  // Seconds and minutes say nothing of an age.
  return age < 60 ? "just now" : `${formatDuration(age - (age % (age < HOUR ? 60 : HOUR)))} ago`;
}

/** `2026-11-23 14:03 UTC (12 min ago)`. @param now Unix seconds */
export function momentText(at: number, now: number): string {
  return `${formatMinute(at)} UTC (${ageText(at, now)})`;
}

/** The state that counts, and the operator's own words where they differ. */
export function stateText({ status, operator_status: said, lost }: Sim): string {
  if (lost) return `${sanitizeLine(status)} (lost)`;
  return said === undefined || said === status
    ? sanitizeLine(status)
    : `${sanitizeLine(status)} (operator: ${sanitizeLine(said)})`;
}

/** What was asked for: `active -> inactive`, or `to inactive` where the state before is not given. */
export function changeText(pending: PendingChange, before?: Pick<Sim, "status" | "network_group">): string {
  const changes = [
    fromTo(before?.status, pending.status),
    fromTo(before?.network_group, pending.network_group, "network group "),
  ].filter((text) => text !== undefined);
  return changes.join(", ") || "a change by other means";
}

function fromTo(before: string | undefined, after: string | undefined, name = ""): string | undefined {
  if (after === undefined) return undefined;
  const from = before === undefined || before === after ? "to " : `${sanitizeLine(before)} -> `;
  return `${name}${from}${sanitizeLine(after)}`;
}

/** `active -> inactive, asked 2026-11-23 14:03 UTC (12 min ago); the operator has not confirmed`. @param now Unix seconds */
export function pendingText(
  pending: PendingChange,
  now: number,
  before?: Pick<Sim, "status" | "network_group">,
): string {
  const isOurs = pending.status !== undefined || pending.network_group !== undefined;
  const when = `${isOurs ? "asked" : "noticed"} ${momentText(pending.since, now)}`;
  return `${changeText(pending, before)}, ${when}; the operator has not confirmed`;
}

/** How much of an allowance is used: `405.0 MB of 1.00 GB (40 %)`. */
export function usedText({
  bytes,
  used_bytes: used,
}: {
  readonly bytes: number;
  readonly used_bytes?: number | undefined;
}): string {
  if (used === undefined) return `? of ${formatBytes(bytes)}`;
  return `${formatBytes(used)} of ${formatBytes(bytes)} (${percent(used, bytes)})`;
}

/** A share in whole percent, rounded down: what is not used up is never 100 %. */
export function percent(part: number, whole: number): string {
  return `${Math.floor((part / whole) * 100)} %`;
}
