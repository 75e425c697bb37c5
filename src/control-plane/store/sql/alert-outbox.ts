import type { AlertCondition, AlertSeverity } from "../../../protocol/alerts/condition.ts";
import type { DeliveryStep } from "../../core/alerts/delivery.ts";
import type { AlertGroup, Assignment, GroupStep } from "../../core/alerts/grouping.ts";
import {
  type AlertOutboxStore,
  type AlertDelivery,
  type DeliveryFilter,
  type DueGroup,
  type GroupMember,
  MAX_MESSAGES_PER_HOUR,
  MAX_WAITING_MESSAGES,
  type NewMessage,
  type StoredAlert,
  type ToldAlert,
} from "../alerts.ts";
import { type SubjectRow, toSubject } from "./alert-subject.ts";
import { appendAccountEvents } from "./append-events.ts";
import type { Dialect } from "./dialect.ts";
import type { Executor } from "./executor.ts";
import { all, change, type Value, type Work } from "./statement.ts";

const GROUP_COLUMNS = `p.id, p.account_id, p.route, p.condition, p.severity, p.first_since_ms, p.opened_at_ms, p.sends, p.sent_total,
  p.last_sent_at_ms`;
const LIST_GROUPS = /* sql */ `
  SELECT ${GROUP_COLUMNS} FROM alert_groups p WHERE p.account_id = ? AND p.is_closed = 0 ORDER BY p.opened_at_ms, p.id`;
const HAS_GROUP = "SELECT 1 AS found FROM alert_groups WHERE id = ? AND account_id = ?";
const INSERT_GROUP = /* sql */ `
  INSERT INTO alert_groups (id, account_id, route, condition, severity, first_since_ms, opened_at_ms, due_ms)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`;
/** Not to a group that was closed meanwhile, nor an alert that is resolved: the next round decides anew. */
const INSERT_MEMBER = /* sql */ `
  INSERT INTO alert_group_members (group_id, alert_id, route, joined_at_ms)
  SELECT p.id, l.id, p.route, CAST(? AS BIGINT) FROM alert_groups p, alerts l
  WHERE p.id = ? AND p.is_closed = 0 AND l.id = ? AND l.state = 'firing' ON CONFLICT DO NOTHING`;
const MAKE_DUE = "UPDATE alert_groups SET due_ms = ? WHERE id = ? AND is_closed = 0";
/** What has said something before others: an end that is told late is better than a beginning. */
const LIST_DUE = /* sql */ `
  SELECT ${GROUP_COLUMNS},
    (SELECT count(*) FROM alert_group_members m WHERE m.group_id = p.id) AS total,
    (SELECT count(*) FROM alert_group_members m JOIN alerts l ON l.id = m.alert_id
      WHERE m.group_id = p.id AND l.state = 'firing') AS open,
    (SELECT count(*) FROM alert_group_members m JOIN alerts l ON l.id = m.alert_id
      WHERE m.group_id = p.id AND l.state = 'firing' AND l.acknowledged_at_ms IS NULL) AS unacknowledged
  FROM alert_groups p WHERE p.due_ms <= ? ORDER BY p.due_ms LIMIT ?`;
/** The deployment that ended last when the alert began: among the newest ones, since a device may have had very many. */
const CAUSE = /* sql */ `
  CASE WHEN l.condition = 'deployment_failed' THEN (
    SELECT CASE WHEN e.status = 'Fail' THEN e.app || coalesce(', ' || e.code, '') END
    FROM (SELECT d.app, d.code, d.status, d.finished_at_ms FROM deployments d
      WHERE d.asset_uuid = l.subject_id ORDER BY d.created_at_ms DESC LIMIT 20) e
    WHERE e.finished_at_ms <= l.since_ms ORDER BY e.finished_at_ms DESC LIMIT 1) END`;
const LIST_TOLD = /* sql */ `
  SELECT l.id, l.state, l.subject_kind, l.subject_id, l.subject_name, l.since_ms, l.fired_at_ms, l.resolved_at_ms, a.serial_number,
    ${CAUSE} AS cause
  FROM alert_group_members m JOIN alerts l ON l.id = m.alert_id LEFT JOIN assets a ON a.uuid = l.subject_id
  WHERE m.group_id = ?1
  ORDER BY CASE WHEN m.joined_at_ms > CAST(?2 AS BIGINT) THEN 0 ELSE 1 END, l.since_ms, l.subject_name, l.id LIMIT ?3`;
const listUnacknowledgedSql = ({ jsonObject }: Dialect): string => /* sql */ `
  SELECT l.id, l.subject_kind, l.subject_id, l.subject_name, a.type,
    (SELECT ${jsonObject("g.key", "g.value")} FROM asset_tags g WHERE g.asset_uuid = l.subject_id) AS tags
  FROM alert_group_members m JOIN alerts l ON l.id = m.alert_id LEFT JOIN assets a ON a.uuid = l.subject_id
  WHERE m.group_id = ? AND m.alert_id > ? AND l.state = 'firing' AND l.acknowledged_at_ms IS NULL
  ORDER BY m.alert_id LIMIT ?`;
const STEP = /* sql */ `
  UPDATE alert_groups SET due_ms = CAST(? AS BIGINT), is_closed = ?, sends = sends + ?, sent_total = ?,
    last_sent_at_ms = CAST(? AS BIGINT)
  WHERE id = ? AND sends = ? AND is_closed = 0`;
const ENQUEUE = /* sql */ `
  INSERT INTO alert_deliveries (account_id, channel, group_id, message_id, message, state, created_at_ms, due_ms, answer)
  SELECT c.account_id, c.name, ?3, ?4, ?5, CASE WHEN w.waiting < ${MAX_WAITING_MESSAGES} THEN 'waiting' ELSE 'failed' END,
    CAST(?6 AS BIGINT), CAST(?6 AS BIGINT),
    CASE WHEN w.waiting < ${MAX_WAITING_MESSAGES} THEN NULL ELSE 'Not sent: too many messages wait for the channel.' END
  FROM alert_channels c, (SELECT count(*) AS waiting FROM alert_deliveries d
    WHERE d.account_id = ?1 AND d.channel = ?2 AND d.state = 'waiting') w
  WHERE c.account_id = ?1 AND c.name = ?2 AND c.disabled_at_ms IS NULL
  ON CONFLICT (account_id, channel, message_id) DO NOTHING`;
const DELIVERY_COLUMNS =
  "id, account_id, channel, group_id, message_id, message, state, attempts, created_at_ms, due_ms, answered_at_ms, answer";
/**
 * Returns the part of a query that has a group of rows for each channel: its messages that may be sent at a time. One waits for those
 * of its group before it, and all wait while the channel has had as many as it gets in an hour. What claims messages and what counts
 * the stuck ones share it, so that nothing counts as stuck that is held back.
 * @param at parameter with the time
 * @param hourAgo parameter with an hour before it
 * @param also another condition of the rows
 */
const sendableAt = (at: string, hourAgo: string, also: string): string => /* sql */ `
    FROM alert_deliveries d
    WHERE d.state = 'waiting' AND d.due_ms <= CAST(${at} AS BIGINT) AND ${also}
      AND NOT EXISTS (SELECT 1 FROM alert_deliveries e WHERE e.account_id = d.account_id AND e.channel = d.channel
        AND e.state = 'waiting' AND e.group_id = d.group_id AND e.id < d.id)
    GROUP BY d.account_id, d.channel
    HAVING (SELECT count(*) FROM alert_deliveries s WHERE s.account_id = d.account_id AND s.channel = d.channel
      AND s.answered_at_ms > CAST(${hourAgo} AS BIGINT)) < ${MAX_MESSAGES_PER_HOUR}`;
const claimSql = ({ jsonTexts }: Dialect): string => /* sql */ `
  UPDATE alert_deliveries SET claimed_by = ?1, claimed_until_ms = CAST(?3 AS BIGINT), attempts = attempts + 1
  WHERE state = 'waiting' AND claimed_until_ms <= CAST(?2 AS BIGINT) AND id IN (
    SELECT min(d.id) ${sendableAt(
      "?2",
      "?6",
      `d.claimed_until_ms <= CAST(?2 AS BIGINT) AND d.account_id || ' ' || d.channel NOT IN ${jsonTexts("?5")}`,
    )}
    ORDER BY min(d.due_ms) LIMIT ?4)
  RETURNING ${DELIVERY_COLUMNS}`;
/**
 * Looks at the past: what may be sent since this moment only has not waited yet. Without an answer since then, what could be sent
 * then could be all the time. What is claimed counts, too: its senders may die one after the other.
 */
const COUNT_STUCK = /* sql */ `
  SELECT count(*) AS stuck FROM (
    SELECT min(d.id) AS id ${sendableAt(
      "?1",
      "?2",
      `NOT EXISTS (SELECT 1 FROM alert_deliveries n WHERE n.account_id = d.account_id AND n.channel = d.channel
        AND n.answered_at_ms > CAST(?1 AS BIGINT))`,
    )}) c`;
const FINISH = /* sql */ `
  UPDATE alert_deliveries SET state = ?, due_ms = CAST(coalesce(CAST(? AS BIGINT), due_ms) AS BIGINT), answer = ?, answered_at_ms = ?,
    claimed_by = NULL, claimed_until_ms = 0
  WHERE id = ? AND claimed_by = ? AND state = 'waiting'`;
const SET_CHANNEL = /* sql */ `
  UPDATE alert_channels SET failing_since_ms = CAST(?1 AS BIGINT),
    disabled_at_ms = CASE WHEN ?2 = 1 THEN CAST(?3 AS BIGINT) ELSE disabled_at_ms END
  WHERE account_id = ?4 AND name = ?5`;
const HOUR_MS = 3_600_000;
/** What waits for a channel that gets no more messages. */
export const FAIL_WAITING = /* sql */ `
  UPDATE alert_deliveries SET state = 'failed', answer = ?, claimed_by = NULL, claimed_until_ms = 0
  WHERE account_id = ? AND channel = ? AND state = 'waiting'`;
const LIST = `SELECT ${DELIVERY_COLUMNS} FROM alert_deliveries WHERE account_id = ?1 AND id < CAST(?2 AS BIGINT)`;
const REMOVE_DELIVERIES = /* sql */ `
  DELETE FROM alert_deliveries WHERE id IN (
    SELECT id FROM alert_deliveries WHERE created_at_ms < ? AND state <> 'waiting' ORDER BY created_at_ms LIMIT ?)`;
const REMOVE_GROUPS = /* sql */ `
  DELETE FROM alert_groups WHERE id IN (
    SELECT id FROM alert_groups WHERE is_closed = 1 AND opened_at_ms < ? ORDER BY opened_at_ms LIMIT ?)`;

interface GroupRow {
  readonly id: string;
  readonly account_id: string;
  readonly route: string;
  readonly condition: AlertCondition;
  readonly severity: AlertSeverity;
  readonly first_since_ms: number;
  readonly opened_at_ms: number;
  readonly sends: number;
  readonly sent_total: number;
  readonly last_sent_at_ms: number | null;
}

interface DueRow extends GroupRow {
  readonly total: number;
  readonly open: number;
  readonly unacknowledged: number;
}

interface ToldRow extends Pick<SubjectRow, "subject_kind" | "subject_id" | "subject_name"> {
  readonly id: string;
  readonly state: StoredAlert["state"];
  readonly since_ms: number;
  readonly fired_at_ms: number;
  readonly resolved_at_ms: number | null;
  readonly serial_number: string | null;
  readonly cause: string | null;
}

interface DeliveryRow {
  readonly id: number;
  readonly account_id: string;
  readonly channel: string;
  readonly group_id: string;
  readonly message_id: string;
  readonly message: string;
  readonly state: AlertDelivery["state"];
  readonly attempts: number;
  readonly created_at_ms: number;
  readonly due_ms: number;
  readonly answered_at_ms: number | null;
  readonly answer: string | null;
}

export class SqlAlertOutboxStore implements AlertOutboxStore {
  readonly #executor: Executor;
  readonly #listUnacknowledged: string;
  readonly #claim: string;

  constructor(executor: Executor) {
    this.#executor = executor;
    this.#listUnacknowledged = listUnacknowledgedSql(executor.dialect);
    this.#claim = claimSql(executor.dialect);
  }

  async hasGroup(accountId: string, id: string): Promise<boolean> {
    return (await this.#executor.one(HAS_GROUP, [id, accountId])) !== undefined;
  }

  async listGroups(accountId: string): Promise<readonly AlertGroup[]> {
    return (await this.#executor.all<GroupRow>(LIST_GROUPS, [accountId])).map(toGroup);
  }

  async assign(accountId: string, assignments: readonly Assignment[], nowMs: number): Promise<void> {
    await this.#executor.transact(function* (): Work<void> {
      const seen = new Set<string>();
      for (const { alertId, group } of assignments) {
        if (!seen.has(group.id)) {
          const { id, routeId, condition, severity, firstSinceMs, openedAtMs } = group;
          yield* change(INSERT_GROUP, [id, accountId, routeId, condition, severity, firstSinceMs, openedAtMs, nowMs]);
          yield* change(MAKE_DUE, [nowMs, id]);
          seen.add(id);
        }
        yield* change(INSERT_MEMBER, [nowMs, group.id, alertId]);
      }
      if (seen.size > 0) yield* appendAccountEvents(accountId, [{ type: "alert.changed" }]);
    });
  }

  async listDueGroups(nowMs: number, limit: number): Promise<readonly DueGroup[]> {
    const rows = await this.#executor.all<DueRow>(LIST_DUE, [nowMs, limit]);
    return rows.map((row) => ({
      accountId: row.account_id,
      group: toGroup(row),
      counts: { total: row.total, open: row.open, unacknowledged: row.unacknowledged },
    }));
  }

  async listTold({ id, lastSentAtMs = -1 }: AlertGroup, limit: number): Promise<readonly ToldAlert[]> {
    return (await this.#executor.all<ToldRow>(LIST_TOLD, [id, lastSentAtMs, limit])).map(toTold);
  }

  async listUnacknowledged(groupId: string, after: string, limit: number): Promise<readonly GroupMember[]> {
    const rows = await this.#executor.all<SubjectRow & { readonly id: string }>(this.#listUnacknowledged, [
      groupId,
      after,
      limit,
    ]);
    return rows.map((row) => ({ id: row.id, subject: toSubject(row) }));
  }

  async step(
    { accountId, group }: DueGroup,
    { nextAtMs = null, isClosed }: { readonly nextAtMs?: number | null | undefined } & Pick<GroupStep, "isClosed">,
    message: NewMessage | undefined,
    nowMs: number,
  ): Promise<void> {
    const { id, sends, sentTotal, lastSentAtMs = null } = group;
    const sent = message ? [1, message.total, nowMs] : [0, sentTotal, lastSentAtMs];
    await this.#executor.transact(function* (): Work<void> {
      if ((yield* change(STEP, [nextAtMs, isClosed ? 1 : 0, ...sent, id, sends])) === 0 || !message) return;
      for (const channel of message.channels)
        yield* change(ENQUEUE, [accountId, channel, id, message.id, message.message, nowMs]);
    });
  }

  async claim(
    instanceId: string,
    nowMs: number,
    untilMs: number,
    limit: number,
    busy: readonly string[],
  ): Promise<readonly AlertDelivery[]> {
    const values = [instanceId, nowMs, untilMs, limit, JSON.stringify(busy), nowMs - HOUR_MS];
    const claim = this.#claim;
    const rows = await this.#executor.transact(() => all<DeliveryRow>(claim, values));
    return rows.map(toDelivery);
  }

  async finish(
    delivery: AlertDelivery,
    instanceId: string,
    step: DeliveryStep,
    answer: string,
    nowMs: number,
  ): Promise<void> {
    const { id, accountId, channel } = delivery;
    const { state, dueMs = null, failingSinceMs = null, disables } = step;
    await this.#executor.transact(function* (): Work<void> {
      if ((yield* change(FINISH, [state, dueMs, answer, nowMs, id, instanceId])) === 0) return;
      yield* change(SET_CHANNEL, [failingSinceMs, disables ? 1 : 0, nowMs, accountId, channel]);
      if (disables) yield* change(FAIL_WAITING, ["The channel was disabled.", accountId, channel]);
    });
  }

  async listDeliveries(
    accountId: string,
    { channel, state }: DeliveryFilter,
    limit: number,
    before = Number.MAX_SAFE_INTEGER,
  ): Promise<readonly AlertDelivery[]> {
    const values: Value[] = [accountId, before];
    let sql = LIST;
    if (channel !== undefined) sql += ` AND channel = ?${values.push(channel)}`;
    if (state !== undefined) sql += ` AND state = ?${values.push(state)}`;
    sql += ` ORDER BY id DESC LIMIT ?${values.push(limit)}`;
    return (await this.#executor.all<DeliveryRow>(sql, values)).map(toDelivery);
  }

  async countStuck(sinceMs: number): Promise<number> {
    const values = [sinceMs, sinceMs - HOUR_MS];
    return (await this.#executor.one<{ readonly stuck: number }>(COUNT_STUCK, values))?.stuck ?? 0;
  }

  async removeOld(beforeMs: number, limit: number): Promise<boolean> {
    const deliveries = await this.#executor.change(REMOVE_DELIVERIES, [beforeMs, limit]);
    return deliveries + (await this.#executor.change(REMOVE_GROUPS, [beforeMs, limit])) >= limit;
  }
}

function toGroup(row: GroupRow): AlertGroup {
  return {
    id: row.id,
    routeId: row.route,
    condition: row.condition,
    severity: row.severity,
    firstSinceMs: row.first_since_ms,
    openedAtMs: row.opened_at_ms,
    sends: row.sends,
    sentTotal: row.sent_total,
    lastSentAtMs: row.last_sent_at_ms ?? undefined,
  };
}

function toTold(row: ToldRow): ToldAlert {
  const { subject_kind: kind, subject_id: id, subject_name: name } = row;
  return {
    id: row.id,
    state: row.state,
    subject: { kind, id, name, serialNumber: row.serial_number ?? undefined },
    cause: row.cause ?? undefined,
    sinceMs: row.since_ms,
    firedAtMs: row.fired_at_ms,
    resolvedAtMs: row.resolved_at_ms ?? undefined,
  };
}

function toDelivery(row: DeliveryRow): AlertDelivery {
  return {
    id: row.id,
    accountId: row.account_id,
    channel: row.channel,
    groupId: row.group_id,
    messageId: row.message_id,
    message: row.message,
    state: row.state,
    attempts: row.attempts,
    createdAtMs: row.created_at_ms,
    dueMs: row.due_ms,
    answeredAtMs: row.answered_at_ms ?? undefined,
    answer: row.answer ?? undefined,
  };
}
