import {
  ALERT_CONDITIONS,
  type AlertSeverity,
  type ConditionDefault,
  INHIBITED_WHILE_AWAY,
} from "../../../protocol/alerts/condition.ts";
import { compareVersions } from "../../../protocol/agents/version-order.ts";
import type { AlertRule } from "../../../protocol/alerts/settings.ts";
import { matchesSelector, type SelectorTerm } from "../../../protocol/fleets/selector.ts";
import { type AlertChange, type AlertSubject, keyOf, type Observation, type OpenAlert } from "./alert.ts";
import { timeBeyond } from "./levels.ts";
import { termsOfSelector } from "../selector-terms.ts";

/** What began within this time belongs together, in milliseconds: the outage of a carrier is one message. */
export const GROUP_WINDOW_MS = 120_000;

/** Open alerts of an account: more are not opened. */
export const MAX_OPEN_ALERTS = 20_000;

/** A rule with its selector taken apart. */
export type ParsedRule = Omit<AlertRule, "selector"> & { readonly terms: readonly SelectorTerm[] };

export interface AppliedRule {
  readonly enabled: boolean;
  readonly severity: AlertSeverity;
  readonly forMs: number;
  readonly keepMs: number;
  /** For what devices measure. */
  readonly limit: number | undefined;
  /** For agents: the version before which they are outdated; `undefined`: for which a newer release is there. */
  readonly olderThan: string | undefined;
}

export function parseRules(rules: readonly AlertRule[]): readonly ParsedRule[] {
  return rules.map(({ selector, ...rule }) => ({ ...rule, terms: termsOfSelector(selector) }));
}

/** Whether a selector takes the subject. What is no asset has no tags and is taken by `*` alone. */
export function takesSubject(terms: readonly SelectorTerm[], { kind, type = "", tags }: AlertSubject): boolean {
  if (terms.length === 0) return true;
  return kind === "asset" && matchesSelector(terms, { type, tags: tags ?? new Map() });
}

/** Returns what applies to the subject: the defaults of the condition, and the first rule that matches over them. */
export function ruleFor(
  rules: readonly ParsedRule[],
  { condition, subject }: Pick<Observation, "condition" | "subject">,
): AppliedRule {
  const { enabled, severity, forS, keepFiringForS, level }: ConditionDefault = ALERT_CONDITIONS[condition];
  const rule = rules.find((each) => each.condition === condition && takesSubject(each.terms, subject));
  return {
    enabled: rule?.enabled ?? enabled,
    severity: rule?.severity ?? severity,
    forMs: (rule?.for_s ?? (rule?.older_than === undefined ? forS : 0)) * 1000,
    keepMs: keepFiringForS * 1000,
    limit: level && (rule?.[level.side] ?? level.limit),
    olderThan: rule?.older_than,
  };
}

/** Returns the shortest time after which a device that is gone may be alarmed about, in milliseconds. */
export function shortestAbsenceMs(rules: readonly ParsedRule[]): number {
  const times = rules.flatMap(({ condition, for_s }) =>
    condition === "device_offline" && for_s !== undefined ? [for_s] : [],
  );
  return earliestMs(1000 * Math.min(ALERT_CONDITIONS.device_offline.forS, ...times));
}

/**
 * Decides how the alerts of an account change, from what is open and what holds now. It depends on states and the time alone:
 * however often it runs, and whenever it did not, the same conditions lead to the same open alerts.
 */
export function evaluate(
  open: readonly OpenAlert[],
  observed: readonly Observation[],
  rules: readonly ParsedRule[],
  nowMs: number,
): readonly AlertChange[] {
  const alerts = new Map(open.map((alert) => [keyOf(alert), alert]));
  const changes: AlertChange[] = [];
  const held = observed.flatMap((observation) => toHeld(observation, ruleFor(rules, observation)));
  const enabled = held.filter(({ rule }) => rule.enabled);
  const together = findTogether(enabled, nowMs);
  let room = MAX_OPEN_ALERTS - open.length;
  for (const { observation, rule } of enabled) {
    const key = keyOf(observation);
    const alert = alerts.get(key);
    alerts.delete(key);
    if (alert === undefined) {
      const change = openAlert(observation, rule, together, nowMs);
      if (change && room-- > 0) changes.push(change);
    } else {
      changes.push(...keepAlert(alert, observation, rule, nowMs));
    }
  }
  // What is left no longer holds.
  for (const alert of alerts.values()) changes.push(...endAlert(alert, rules, nowMs));
  return changes;
}

interface Held {
  readonly observation: Observation;
  readonly rule: AppliedRule;
}

/** Returns nothing if what the device measures is not beyond what the rule says, or its agent is not too old by it. */
function toHeld(observation: Observation, rule: AppliedRule): readonly Held[] {
  const { condition, levels, agentVersion, sinceMs } = observation;
  if (agentVersion !== undefined && rule.olderThan !== undefined)
    return compareVersions(agentVersion, rule.olderThan) < 0
      ? [{ observation: { ...observation, sinceMs: undefined }, rule }]
      : [];
  if (agentVersion !== undefined && sinceMs === undefined) return [];
  if (levels === undefined) return [{ observation, rule }];
  const { level }: ConditionDefault = ALERT_CONDITIONS[condition];
  if (!level || rule.limit === undefined) return [];
  const time = timeBeyond(levels, { side: level.side, limit: rule.limit, forS: rule.forMs / 1000 });
  return time ? [{ observation: { ...observation, sinceMs: time.fromMs, untilMs: time.untilMs }, rule }] : [];
}

/** Returns when an alert may fire together with an earlier one at the earliest: a tenth of its time before, two minutes at most. */
function earliestMs(forMs: number): number {
  return forMs - Math.min(GROUP_WINDOW_MS, forMs / 10);
}

/** How long the condition must hold. A device that is usually gone for hours must be gone for longer than that. */
function requiredMs({ observation: { usualPauseMs = 0 }, rule: { forMs } }: Held): number {
  return Math.max(forMs, usualPauseMs * 1.1);
}

/** Returns for each condition since when the first one holds that fires now: what began soon after it fires with it. */
function findTogether(held: readonly Held[], nowMs: number): ReadonlyMap<string, number> {
  const first = new Map<string, number>();
  for (const each of held) {
    const { sinceMs, untilMs = nowMs, condition } = each.observation;
    if (sinceMs === undefined || untilMs - sinceMs < requiredMs(each)) continue;
    // One that has been away for days is not what the others are gone with.
    if (untilMs - sinceMs > requiredMs(each) + GROUP_WINDOW_MS) continue;
    first.set(condition, Math.min(first.get(condition) ?? Infinity, sinceMs));
  }
  return first;
}

function openAlert(
  observation: Observation,
  rule: AppliedRule,
  together: ReadonlyMap<string, number>,
  nowMs: number,
): AlertChange | undefined {
  const { condition, subject, isAway, usualPauseMs, untilMs = nowMs } = observation;
  const sinceMs = Math.min(observation.sinceMs ?? nowMs, nowMs);
  const required = requiredMs({ observation, rule });
  const isInhibited = isAway && INHIBITED_WHILE_AWAY.has(condition);
  const first = together.get(condition);
  const isTogether =
    first !== undefined && sinceMs - first <= GROUP_WINDOW_MS && untilMs - sinceMs >= earliestMs(required);
  const fires = !isInhibited && (untilMs - sinceMs >= required || isTogether);
  const isKnown = observation.sinceMs !== undefined;
  // Since when it holds is on record elsewhere.
  if (!fires && isKnown) return undefined;
  const state = fires ? "firing" : "pending";
  const alert = {
    condition,
    severity: rule.severity,
    subject,
    state,
    sinceMs,
    firedAtMs: fires ? nowMs : undefined,
  } as const;
  return { kind: "open", alert, usualPauseMs: (usualPauseMs ?? 0) * 1.1 > rule.forMs ? usualPauseMs : undefined };
}

function keepAlert(
  alert: OpenAlert,
  observation: Observation,
  rule: AppliedRule,
  nowMs: number,
): readonly AlertChange[] {
  const { id, condition, state, sinceMs, clearSinceMs } = alert;
  const again: readonly AlertChange[] =
    clearSinceMs === undefined ? [] : [{ kind: "clear", id, clearSinceMs: undefined }];
  if (state === "firing") return again;
  const isInhibited = observation.isAway && INHIBITED_WHILE_AWAY.has(condition);
  if (isInhibited || nowMs - sinceMs < requiredMs({ observation, rule })) return again;
  return [...again, { kind: "fire", id, severity: rule.severity }];
}

function endAlert(alert: OpenAlert, rules: readonly ParsedRule[], nowMs: number): readonly AlertChange[] {
  const { id, state, clearSinceMs } = alert;
  const { enabled, keepMs } = ruleFor(rules, alert);
  const isOver = !enabled || keepMs === 0 || (clearSinceMs !== undefined && nowMs - clearSinceMs >= keepMs);
  if (isOver) return [{ kind: state === "firing" ? "resolve" : "drop", id }];
  return clearSinceMs === undefined ? [{ kind: "clear", id, clearSinceMs: nowMs }] : [];
}
