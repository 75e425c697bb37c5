import type { AlertCondition, AlertSeverity } from "../../../protocol/alerts/condition.ts";
import type { AlertRouteBody } from "../../../protocol/alerts/settings.ts";
import type { SelectorTerm } from "../../../protocol/fleets/selector.ts";
import type { AlertSubject, OpenAlert } from "./alert.ts";
import { GROUP_WINDOW_MS, takesSubject } from "./evaluate.ts";
import { quietUntilMs } from "./quiet-hours.ts";

/** Groups that a route opens in an hour for one condition: what fires after that joins the last one. */
export const MAX_GROUPS_PER_HOUR = 20;
/** Pause between two messages of a group because more has joined it. */
const GROUP_INTERVAL_MS = GROUP_WINDOW_MS;
const HOUR_MS = 3_600_000;
/** Pause between two looks at a group that is silenced: a silence may be ended before its time. */
const SILENCED_LOOK_MS = 300_000;

export interface AlertRoute extends Omit<AlertRouteBody, "selector"> {
  readonly id: string;
  readonly terms: readonly SelectorTerm[];
}

/** What is not told of, until it ends. Unix milliseconds. */
export interface SilenceMatcher {
  readonly conditions: readonly AlertCondition[] | undefined;
  readonly terms: readonly SelectorTerm[];
  /** The only asset that it takes; `undefined`: what the terms take. */
  readonly assetUuid: string | undefined;
  readonly endsAtMs: number;
}

/** Alerts of one condition that are told of together, by one route. Times are Unix milliseconds. */
export interface AlertGroup {
  readonly id: string;
  readonly routeId: string;
  readonly condition: AlertCondition;
  readonly severity: AlertSeverity;
  /** Since when the condition of its first alert holds. */
  readonly firstSinceMs: number;
  readonly openedAtMs: number;
  /** How many messages it has had, and how many alerts the last one told of. */
  readonly sends: number;
  readonly sentTotal: number;
  readonly lastSentAtMs: number | undefined;
}

export interface Assignment {
  readonly alertId: string;
  readonly routeId: string;
  readonly group: AlertGroup;
}

/** Returns until when the alert is silenced, in Unix milliseconds; `undefined` if it is not. */
export function silencedUntilMs(
  silences: readonly SilenceMatcher[],
  { condition, subject }: Pick<OpenAlert, "condition" | "subject">,
  nowMs: number,
): number | undefined {
  let untilMs: number | undefined;
  for (const silence of silences) {
    const { conditions, endsAtMs } = silence;
    if (endsAtMs <= (untilMs ?? nowMs) || conditions?.includes(condition) === false) continue;
    if (silencesSubject(silence, subject)) untilMs = endsAtMs;
  }
  return untilMs;
}

/** Whether a silence is about the subject, whatever the condition is. */
export function silencesSubject(
  { assetUuid, terms }: Pick<SilenceMatcher, "assetUuid" | "terms">,
  subject: AlertSubject,
): boolean {
  if (assetUuid === undefined) return takesSubject(terms, subject);
  return subject.kind === "asset" && subject.id === assetUuid;
}

function takesAlert(route: AlertRoute, alert: OpenAlert, nowMs: number): boolean {
  const { conditions, severities, terms, for_s: forS } = route;
  if (conditions && !conditions.includes(alert.condition)) return false;
  if (severities && !severities.includes(alert.severity)) return false;
  return nowMs - alert.sinceMs >= forS * 1000 && takesSubject(terms, alert.subject);
}

/**
 * Assigns firing alerts to the groups of the routes that tell of them: to one of the same condition that began within two
 * minutes, or else to a new one.
 *
 * @param groups groups that are not closed
 * @param newId returns the id of a new group
 */
export function assignGroups(
  alerts: readonly OpenAlert[],
  routes: readonly AlertRoute[],
  silences: readonly SilenceMatcher[],
  groups: readonly AlertGroup[],
  nowMs: number,
  newId: () => string,
): readonly Assignment[] {
  const byKey = new Map<string, AlertGroup[]>();
  for (const group of groups) addTo(byKey, group);
  const assignments: Assignment[] = [];
  for (const alert of alerts) {
    if (alert.state !== "firing" || alert.isAcknowledged) continue;
    if (silencedUntilMs(silences, alert, nowMs) !== undefined) continue;
    for (const route of routes) {
      if (alert.routeIds.includes(route.id) || !takesAlert(route, alert, nowMs)) continue;
      const { condition, severity, sinceMs } = alert;
      const known = byKey.get(groupKey(route.id, condition, severity)) ?? [];
      let group = known.find((each) => isTogether(each, sinceMs, nowMs)) ?? overflow(known, nowMs);
      if (!group) {
        const first = { firstSinceMs: sinceMs, openedAtMs: nowMs, sends: 0, sentTotal: 0, lastSentAtMs: undefined };
        group = { id: newId(), routeId: route.id, condition, severity, ...first };
        addTo(byKey, group);
      }
      assignments.push({ alertId: alert.id, routeId: route.id, group });
    }
  }
  return assignments;
}

function groupKey(routeId: string, condition: string, severity: string): string {
  return `${routeId} ${condition} ${severity}`;
}

function addTo(byKey: Map<string, AlertGroup[]>, group: AlertGroup): void {
  const key = groupKey(group.routeId, group.condition, group.severity);
  const groups = byKey.get(key);
  if (groups) groups.push(group);
  else byKey.set(key, [group]);
}

function isTogether({ firstSinceMs, openedAtMs }: AlertGroup, sinceMs: number, nowMs: number): boolean {
  return Math.abs(sinceMs - firstSinceMs) <= GROUP_WINDOW_MS || nowMs - openedAtMs <= GROUP_WINDOW_MS;
}

/** Returns the group that takes what is too much. */
function overflow(groups: readonly AlertGroup[], nowMs: number): AlertGroup | undefined {
  const recent = groups.filter(({ openedAtMs }) => nowMs - openedAtMs < HOUR_MS);
  return recent.length >= MAX_GROUPS_PER_HOUR ? recent.at(-1) : undefined;
}

/** How the alerts of a group are now. */
export interface GroupCounts {
  readonly total: number;
  readonly open: number;
  /** Of the open ones, those that no person has acknowledged. */
  readonly unacknowledged: number;
  /** Until when all of these are silenced, in Unix milliseconds; `undefined`: one of them is not. */
  readonly silencedUntilMs?: number | undefined;
}

export interface GroupStep {
  readonly message: "firing" | "update" | "repeat" | "resolved" | undefined;
  /** When to look at it again; `undefined`: when its alerts change. */
  readonly nextAtMs: number | undefined;
  readonly isClosed: boolean;
}

/** Decides what a group says next. @param route `undefined`: it was removed */
export function nextGroupStep(
  group: AlertGroup,
  counts: GroupCounts,
  route: AlertRoute | undefined,
  nowMs: number,
): GroupStep {
  const { sends, sentTotal, openedAtMs, lastSentAtMs = openedAtMs } = group;
  const { total, open, unacknowledged, silencedUntilMs: silencedMs = nowMs } = counts;
  const closed = { message: undefined, nextAtMs: undefined, isClosed: true };
  // No person was told of it, or the route does not send ends.
  if (!route || (open === 0 && (sends === 0 || !route.send_resolved))) return closed;
  const at = (message: GroupStep["message"], dueMs: number, nextAtMs?: number): GroupStep => {
    const dueAfterQuiet = quietEndMs(route, group.severity, Math.max(dueMs, nowMs)) ?? dueMs;
    if (dueAfterQuiet > nowMs) return { message: undefined, nextAtMs: dueAfterQuiet, isClosed: false };
    return { message, nextAtMs, isClosed: message === "resolved" };
  };
  if (open > 0 && unacknowledged > 0 && silencedMs > nowMs)
    return { message: undefined, nextAtMs: Math.min(silencedMs, nowMs + SILENCED_LOOK_MS), isClosed: false };
  const repeatMs = route.repeat_s === null ? undefined : route.repeat_s * 1000;
  const nextRepeatMs = repeatMs === undefined ? undefined : nowMs + repeatMs;
  if (sends === 0) {
    if (unacknowledged === 0) return { message: undefined, nextAtMs: undefined, isClosed: false };
    return at("firing", openedAtMs + route.group_wait_s * 1000, nextRepeatMs);
  }
  if (open === 0) return at("resolved", nowMs);
  if (unacknowledged === 0) return { message: undefined, nextAtMs: undefined, isClosed: false };
  if (total > sentTotal) return at("update", lastSentAtMs + GROUP_INTERVAL_MS, nextRepeatMs);
  return repeatMs === undefined
    ? { message: undefined, nextAtMs: undefined, isClosed: false }
    : at("repeat", lastSentAtMs + repeatMs, nextRepeatMs);
}

function quietEndMs({ quiet_hours: quiet }: AlertRoute, severity: AlertSeverity, atMs: number): number | undefined {
  if (!quiet || (severity === "critical" && quiet.except_critical)) return undefined;
  return quietUntilMs(quiet, atMs);
}
