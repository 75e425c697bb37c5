import { ALERT_CONDITIONS, type AlertCondition, type AlertSeverity } from "../../protocol/alerts/condition.ts";
import type { DueGroup } from "../store/alerts.ts";

/** What a group says, as it is stored and sent. Bounded by what names of assets may be. */
export interface AlertMessage {
  readonly type: "firing" | "update" | "repeat" | "resolved" | "test";
  readonly account_id: string;
  readonly group_id: string;
  readonly route: string;
  readonly condition: AlertCondition;
  readonly severity: AlertSeverity;
  /** One line for people. */
  readonly text: string;
  readonly total: number;
  readonly open: number;
  /** Of some of the subjects. */
  readonly names: readonly string[];
  /** Since when the condition of the first one holds. Unix seconds. */
  readonly since: number;
  /** Unix seconds. */
  readonly at: number;
  /**
   * Page of the console that shows what the message is about, where a person acknowledges it; `null` if the service does not know its
   * address. To open it changes nothing: scanners of mails and previews in chats do.
   */
  readonly url: string | null;
}

const NAMED_IN_TEXT = 3;
const MAX_NAME_LENGTH = 128;
const SUBJECTS = { asset: "assets", rollout: "rollouts", api_key: "keys", channel: "channels" } as const;

/** Returns what the group says. @param publicUrl address of the service, if it is known */
export function composeMessage(
  { accountId, group, counts, names: all }: DueGroup,
  type: Exclude<AlertMessage["type"], "test">,
  publicUrl: string | undefined,
  nowMs: number,
): AlertMessage {
  const { id, routeId, condition, severity, firstSinceMs } = group;
  const names = all.map((name) => cleanText(name, MAX_NAME_LENGTH));
  const { total, open } = counts;
  return {
    type,
    account_id: accountId,
    group_id: id,
    route: routeId,
    condition,
    severity,
    text: textOf(type, condition, names, total),
    total,
    open,
    names,
    since: Math.floor(firstSinceMs / 1000),
    at: Math.floor(nowMs / 1000),
    url: publicUrl === undefined ? null : new URL(`/alerts?group=${encodeURIComponent(id)}`, publicUrl).href,
  };
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
    names: [],
    since: at,
    at,
    url: null,
  };
}

function textOf(
  type: AlertMessage["type"],
  condition: AlertCondition,
  names: readonly string[],
  total: number,
): string {
  const { title, subject } = ALERT_CONDITIONS[condition];
  const prefix = { firing: "", update: "More: ", repeat: "Still: ", resolved: "Resolved: ", test: "" }[type];
  const named = names.slice(0, total === 1 ? 1 : NAMED_IN_TEXT).join(", ");
  if (total === 1) return `${prefix}${title}: ${named}`;
  const more = total > NAMED_IN_TEXT ? ` and ${total - NAMED_IN_TEXT} more` : "";
  return `${prefix}${title}: ${total} ${SUBJECTS[subject]} (${named}${more})`;
}

/** Returns a text of others on one line, without what could forge headers, lines or directions of writing. */
export function cleanText(text: string, maxLength: number): string {
  const clean = text.toWellFormed().replaceAll(/[\p{Cc}\u2028\u2029\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu, " ");
  return clean.length > maxLength ? `${clean.slice(0, maxLength - 1).toWellFormed()}…` : clean;
}
