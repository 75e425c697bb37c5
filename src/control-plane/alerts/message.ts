import { formatMinute } from "../../lib/terminal/time.ts";
import { ALERT_CONDITIONS, type AlertCondition } from "../../protocol/alerts/condition.ts";
import type { AlertWebhook, ToldAlertBody } from "../../protocol/alerts/webhook.ts";
import type { DueGroup, ToldAlert } from "../store/alerts.ts";

/** What a group says, as it is stored and sent. Bounded by what names of assets may be. */
export interface AlertMessage extends Readonly<Omit<AlertWebhook["data"], "id">> {
  readonly type: "firing" | "update" | "repeat" | "resolved" | "test";
  /** Unix seconds. */
  readonly at: number;
}

const NAMED_IN_TEXT = 3;
const MAX_NAME_LENGTH = 128;
const SUBJECTS = {
  asset: "assets",
  rollout: "rollouts",
  api_key: "keys",
  channel: "channels",
  service: "parts of the service",
} as const;
const KINDS = { asset: "asset", rollout: "rollout", api_key: "key", channel: "channel", service: "service" } as const;

/**
 * Returns what the group says.
 *
 * @param told alerts of the group that the message has, in order
 * @param publicUrl address of the service, if it is known
 */
export function composeMessage(
  { accountId, group, counts }: DueGroup,
  told: readonly ToldAlert[],
  type: Exclude<AlertMessage["type"], "test">,
  publicUrl: string | undefined,
  nowMs: number,
): AlertMessage {
  const { id, routeId, condition, severity, firstSinceMs } = group;
  const { total, open } = counts;
  const alerts = told.map(toBody);
  // One that was away twice is one, as far as the message has all of them.
  const causes = new Map(told.map(({ id: alertId, cause }) => [alertId, cause]));
  const names = new Map(
    alerts.map(({ id: alertId, subject }) => [subject.id, namedWith(subject, causes.get(alertId))]),
  );
  const about = alerts.length === total ? names.size : total;
  return {
    type,
    account_id: accountId,
    group_id: id,
    route: routeId,
    condition,
    severity,
    text: textOf(type, condition, [...names.values()], about),
    total,
    open,
    alerts,
    since: seconds(firstSinceMs),
    at: seconds(nowMs),
    // To open it changes nothing: scanners of mails and previews in chats do.
    url: publicUrl === undefined ? null : new URL(`/alerts?group=${encodeURIComponent(id)}`, publicUrl).href,
  };
}

function toBody({ id, state, subject, sinceMs, firedAtMs, resolvedAtMs }: ToldAlert): ToldAlertBody {
  const { kind, id: subjectId, name, serialNumber = null } = subject;
  return {
    id,
    state,
    subject: { kind, id: subjectId, name: cleanText(name, MAX_NAME_LENGTH), serial_number: serialNumber },
    since: seconds(sinceMs),
    fired_at: seconds(firedAtMs),
    resolved_at: resolvedAtMs === undefined ? null : seconds(resolvedAtMs),
  };
}

function namedWith({ name }: ToldAlertBody["subject"], cause: string | undefined): string {
  return cause === undefined ? name : `${name} (${cleanText(cause, MAX_NAME_LENGTH)})`;
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000);
}

/** Returns a line that says since when it has been so, or from when until when it was; none for a test. */
export function timesOf({ type, since, at, alerts }: AlertMessage): readonly string[] {
  if (type === "test") return [];
  if (type !== "resolved") return [`Since ${formatMinute(since)} UTC`];
  const ends = alerts.flatMap(({ resolved_at: end }) => (end === null ? [] : [end]));
  return [`From ${formatMinute(since)} to ${formatMinute(ends.length > 0 ? Math.max(...ends) : at)} UTC`];
}

/** Returns a line for each of the first alerts, by which people find what it is about, and one for the number of the others. */
export function detailsOf({ alerts, total }: Pick<AlertMessage, "alerts" | "total">, max: number): readonly string[] {
  const lines = alerts.slice(0, max).map(detailOf);
  return total > lines.length && lines.length > 0 ? [...lines, `and ${total - lines.length} more`] : lines;
}

function detailOf({ id, subject: { kind, id: subjectId, name, serial_number: serial } }: ToldAlertBody): string {
  const facts = [
    ...(serial !== null && serial !== name ? [`serial number ${serial}`] : []),
    ...(subjectId === name ? [] : [`${KINDS[kind]} ${subjectId}`]),
    `alert ${id}`,
  ];
  return `${name}: ${facts.join(", ")}`;
}

/** Returns the id of a message of the group, from 1 on: the same if it is decided again. */
export function messageIdOf(groupId: string, number: number): string {
  return `msg_${groupId.slice("grp_".length)}_${number}`;
}

/** Returns a message that tries a channel. */
export function testMessage(accountId: string, channel: string, nowMs: number): AlertMessage {
  const at = Math.floor(nowMs / 1000);
  return {
    type: "test",
    account_id: accountId,
    group_id: "test",
    route: "test",
    condition: "device_offline",
    severity: "info",
    text: `Test of the channel ${channel}: alerts arrive here.`,
    total: 0,
    open: 0,
    alerts: [],
    since: at,
    at,
    url: null,
  };
}

function textOf(
  type: AlertMessage["type"],
  condition: AlertCondition,
  names: readonly string[],
  count: number,
): string {
  const { title, subject } = ALERT_CONDITIONS[condition];
  const prefix = { firing: "", update: "More: ", repeat: "Still: ", resolved: "Resolved: ", test: "" }[type];
  const named = names.slice(0, count === 1 ? 1 : NAMED_IN_TEXT).join(", ");
  if (count === 1) return `${prefix}${title}: ${named}`;
  const more = count > NAMED_IN_TEXT ? ` and ${count - NAMED_IN_TEXT} more` : "";
  return `${prefix}${title}: ${count} ${SUBJECTS[subject]} (${named}${more})`;
}

/** Returns a text of others on one line, without what could forge headers, lines or directions of writing. */
export function cleanText(text: string, maxLength: number): string {
  const clean = text.toWellFormed().replaceAll(/[\p{Cc}\u2028\u2029\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu, " ");
  return clean.length > maxLength ? `${clean.slice(0, maxLength - 1).toWellFormed()}…` : clean;
}
