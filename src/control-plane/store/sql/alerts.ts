import type { AlertCondition, AlertSeverity } from "../../../protocol/alerts/condition.ts";
import type { AlertChange, AlertSubject, Observation, OpenAlert } from "../../core/alerts/alert.ts";
import { type DeviceHabits, NO_HABITS } from "../../core/alerts/habits.ts";
import {
  type AlertCursor,
  type AlertFilter,
  type AlertPage,
  type AlertStore,
  type AlertTime,
  type ChangedDevice,
  MAX_RESOLVED_ALERTS,
  MAX_SCANNED_ALERTS,
  type RoundState,
  type ServiceTrouble,
  type StoredAlert,
} from "../alerts.ts";
import type { AuditEntry } from "../audit.ts";
import { AlertObservations, CODE_NOTICE_S, LIST_ACCOUNTS, simSince } from "./alert-observations.ts";
import { listConnected, type SubjectRow, toSubject } from "./alert-subject.ts";
import { appendAccountEvents } from "./append-events.ts";
import { recordAudit } from "./audit.ts";
import type { Executor } from "./executor.ts";
import { matchesSql } from "./selector-sql.ts";
import { change, type Value, type Work } from "./statement.ts";

const READ_ROUND = "SELECT last_at_ms, outage_from_ms, outage_until_ms FROM alert_rounds";
const SAVE_ROUND = "UPDATE alert_rounds SET last_at_ms = ?, outage_from_ms = ?, outage_until_ms = ?";
const LIST_CHANGED = /* sql */ `
  SELECT s.asset_uuid, s.epoch AS now_epoch, CASE WHEN t.instance_id IS NULL THEN t.last_seen_at END AS now_away,
    h.epoch, h.level_millis, h.level_at_ms, h.flaps_until_ms, h.away_since_ms, h.pauses
  FROM device_sessions s JOIN asset_states t ON t.asset_uuid = s.asset_uuid
    LEFT JOIN device_habits h ON h.asset_uuid = s.asset_uuid
  WHERE s.asset_uuid > ? AND s.epoch > 0 AND (h.epoch IS NULL OR h.epoch <> s.epoch
    OR coalesce(h.away_since_ms, -1) <> CASE WHEN t.instance_id IS NULL THEN coalesce(t.last_seen_at * 1000, -1) ELSE -1 END)
  ORDER BY s.asset_uuid LIMIT ?`;
// One that was removed meanwhile has no habits.
const SAVE_HABITS = /* sql */ `
  INSERT INTO device_habits (asset_uuid, epoch, level_millis, level_at_ms, flaps_until_ms, away_since_ms, pauses)
  SELECT uuid, CAST(?2 AS BIGINT), CAST(?3 AS DOUBLE PRECISION), CAST(?4 AS BIGINT), CAST(?5 AS BIGINT), CAST(?6 AS BIGINT), ?7
  FROM assets WHERE uuid = ?1
  ON CONFLICT (asset_uuid) DO UPDATE SET epoch = excluded.epoch, level_millis = excluded.level_millis, level_at_ms = excluded.level_at_ms,
    flaps_until_ms = excluded.flaps_until_ms, away_since_ms = excluded.away_since_ms, pauses = excluded.pauses`;
/** In the order of the index `alerts_open`, which has no others. */
const listOpenSql = (routes: string, tags: string): string => /* sql */ `
  SELECT l.id, l.condition, l.severity, l.subject_kind, l.subject_id, l.subject_name, l.state, l.since_ms, l.clear_since_ms,
    l.fired_at_ms, l.acknowledged_at_ms, a.type, (SELECT ${routes} FROM alert_group_members m WHERE m.alert_id = l.id) AS routes,
    (SELECT ${tags} FROM asset_tags g WHERE g.asset_uuid = l.subject_id) AS tags
  FROM alerts l LEFT JOIN assets a ON a.uuid = l.subject_id
  WHERE l.account_id = ? AND l.state <> 'resolved' AND (l.condition, l.subject_id) > (?, ?)
  ORDER BY l.condition, l.subject_id LIMIT ?`;
const INSERT = /* sql */ `
  INSERT INTO alerts (id, account_id, condition, subject_kind, subject_id, subject_name, severity, state, since_ms, fired_at_ms,
    usual_pause_ms)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (account_id, condition, subject_id) WHERE state <> 'resolved' DO NOTHING`;
const FIRE = "UPDATE alerts SET state = 'firing', severity = ?, fired_at_ms = ? WHERE id = ? AND state = 'pending'";
const CLEAR = "UPDATE alerts SET clear_since_ms = ? WHERE id = ?";
const RESOLVE = "UPDATE alerts SET state = 'resolved', resolved_at_ms = ? WHERE id = ? AND state = 'firing'";
/** The groups of an alert that is resolved are looked at. */
const MAKE_DUE = /* sql */ `
  UPDATE alert_groups SET due_ms = ? WHERE is_closed = 0 AND id IN (SELECT group_id FROM alert_group_members WHERE alert_id = ?)`;
const DROP = "DELETE FROM alerts WHERE id = ? AND state = 'pending'";
const REMOVE_SURPLUS = /* sql */ `
  DELETE FROM alerts WHERE id IN (
    SELECT id FROM alerts WHERE account_id = ? AND state = 'resolved' ORDER BY fired_at_ms DESC, id DESC LIMIT ? OFFSET ?)`;
const COUNT_FIRING = /* sql */ `
  SELECT count(*) AS firing, coalesce(sum(CASE WHEN acknowledged_at_ms IS NULL THEN 1 ELSE 0 END), 0) AS unacknowledged
  FROM alerts WHERE account_id = ? AND state = 'firing'`;
const COLUMNS = `id, condition, subject_kind, subject_id, subject_name, severity, state, since_ms, fired_at_ms, resolved_at_ms,
  usual_pause_ms, acknowledged_at_ms, acknowledged_by`;
const groupsSql = (groups: string): string =>
  `(SELECT ${groups} FROM alert_group_members m WHERE m.alert_id = l.id) AS group_ids`;
const findSql = (groups: string): string =>
  `SELECT ${COLUMNS}, ${groupsSql(groups)} FROM alerts l WHERE id = ? AND account_id = ? AND state <> 'pending'`;
const SCANNED = "FROM alerts WHERE account_id = ?1 AND state = ?2 AND (fired_at_ms, id) < (CAST(?3 AS BIGINT), ?4)";
const NEWEST_FIRST = "ORDER BY fired_at_ms DESC, id DESC";
const acknowledgeSql = (of: string): string => /* sql */ `
  UPDATE alerts SET acknowledged_at_ms = ?, acknowledged_by = ?
  WHERE account_id = ? AND state = 'firing' AND acknowledged_at_ms IS NULL AND id IN ${of}`;
const MEMBERS = "(SELECT alert_id FROM alert_group_members WHERE group_id = ?)";
/** How many at a time: each one takes its members and messages along. */
const SURPLUS_BATCH = 500;
/** After every place in a list. */
const NEWEST: AlertCursor = { firedAtMs: Number.MAX_SAFE_INTEGER, id: "" };

interface OpenRow extends SubjectRow {
  readonly id: string;
  readonly condition: AlertCondition;
  readonly severity: AlertSeverity;
  readonly state: OpenAlert["state"];
  readonly since_ms: number;
  readonly clear_since_ms: number | null;
  readonly fired_at_ms: number | null;
  readonly acknowledged_at_ms: number | null;
  readonly routes: string | null;
}

type PositionRow = Pick<StoredRow, "id" | "fired_at_ms">;

interface StoredRow extends Omit<OpenRow, "state" | "fired_at_ms"> {
  readonly state: StoredAlert["state"];
  readonly fired_at_ms: number;
  readonly resolved_at_ms: number | null;
  readonly usual_pause_ms: number | null;
  readonly acknowledged_by: string | null;
  readonly group_ids: string | null;
}

interface ChangedRow {
  readonly asset_uuid: string;
  readonly now_epoch: number;
  readonly now_away: number | null;
  readonly epoch: number | null;
  readonly level_millis: number;
  readonly level_at_ms: number;
  readonly flaps_until_ms: number;
  readonly away_since_ms: number | null;
  readonly pauses: string;
}

export class SqlAlertStore implements AlertStore {
  readonly #executor: Executor;
  readonly #observations: AlertObservations;
  readonly #listOpen: string;
  readonly #acknowledgeIds: string;
  readonly #groups: string;

  constructor(executor: Executor) {
    this.#executor = executor;
    this.#observations = new AlertObservations(executor);
    const { jsonList, jsonObject, jsonTexts } = executor.dialect;
    this.#listOpen = listOpenSql(jsonList("m.route"), jsonObject("g.key", "g.value"));
    this.#acknowledgeIds = acknowledgeSql(jsonTexts("?"));
    this.#groups = jsonList("m.group_id");
  }

  async listAccounts(
    nowMs: number,
    newest: string | undefined,
    after: string,
    limit: number,
  ): Promise<readonly string[]> {
    const now = Math.floor(nowMs / 1000);
    const values = [after, nowMs, limit, simSince(nowMs), newest ?? null, now, now + CODE_NOTICE_S];
    return (await this.#executor.all<{ readonly id: string }>(LIST_ACCOUNTS, values)).map(({ id }) => id);
  }

  async listAgentVersions(accountId: string): Promise<readonly string[]> {
    return this.#observations.listAgentVersions(accountId);
  }

  async readRound(): Promise<RoundState> {
    const row =
      await this.#executor.one<Record<"last_at_ms" | "outage_from_ms" | "outage_until_ms", number>>(READ_ROUND);
    return { lastAtMs: row?.last_at_ms ?? 0, fromMs: row?.outage_from_ms ?? 0, untilMs: row?.outage_until_ms ?? 0 };
  }

  async saveRound({ lastAtMs, fromMs, untilMs }: RoundState): Promise<void> {
    await this.#executor.change(SAVE_ROUND, [lastAtMs, fromMs, untilMs]);
  }

  async listChangedDevices(after: string, limit: number): Promise<readonly ChangedDevice[]> {
    const rows = await this.#executor.all<ChangedRow>(LIST_CHANGED, [after, limit]);
    return rows.map((row) => ({
      assetUuid: row.asset_uuid,
      sample: { epoch: row.now_epoch, awaySinceMs: row.now_away === null ? undefined : row.now_away * 1000 },
      habits: row.epoch === null ? NO_HABITS : toHabits(row),
    }));
  }

  async saveHabits(all: readonly { readonly assetUuid: string; readonly habits: DeviceHabits }[]): Promise<void> {
    await this.#executor.transact(function* (): Work<void> {
      for (const { assetUuid, habits } of all) {
        const { epoch = 0, level, levelAtMs, flapsUntilMs, awaySinceMs, pauses } = habits;
        const times = [levelAtMs, flapsUntilMs, awaySinceMs ?? null];
        const values = [assetUuid, epoch, Math.round(level * 1000), ...times, JSON.stringify(pauses)];
        yield* change(SAVE_HABITS, values);
      }
    });
  }

  async observeAssets(
    accountId: string,
    time: AlertTime,
    after: string,
    limit: number,
  ): Promise<{ readonly observed: readonly Observation[]; readonly last: string | undefined }> {
    return this.#observations.observeAssets(accountId, time, after, limit);
  }

  async observeOthers(accountId: string, nowMs: number): Promise<readonly Observation[]> {
    return this.#observations.observeOthers(accountId, nowMs);
  }

  async listConnected(
    accountId: string,
    instanceId: string,
    after: string,
    limit: number,
  ): Promise<readonly AlertSubject[]> {
    return listConnected(this.#executor, accountId, instanceId, after, limit);
  }

  async noteTrouble(trouble: ServiceTrouble): Promise<void> {
    await this.#observations.noteTrouble(trouble);
  }

  async keepTrouble(trouble: ServiceTrouble): Promise<void> {
    await this.#observations.keepTrouble(trouble);
  }

  async endTrouble(trouble: Pick<ServiceTrouble, "accountId" | "condition" | "subject">): Promise<void> {
    await this.#observations.endTrouble(trouble);
  }

  async listOpen(
    accountId: string,
    limit: number,
    after?: Pick<OpenAlert, "condition" | "subject">,
  ): Promise<readonly OpenAlert[]> {
    const values = [accountId, after?.condition ?? "", after?.subject.id ?? "", limit];
    return (await this.#executor.all<OpenRow>(this.#listOpen, values)).map(toOpen);
  }

  async change(
    accountId: string,
    changes: readonly AlertChange[],
    ids: readonly string[],
    nowMs: number,
  ): Promise<void> {
    await this.#executor.transact(function* (): Work<void> {
      const free = ids.values();
      let shown = 0;
      for (const each of changes) {
        switch (each.kind) {
          case "open": {
            const { condition, subject, severity, state, sinceMs, firedAtMs = null } = each.alert;
            const id = free.next().value ?? "";
            const about = [condition, subject.kind, subject.id, subject.name, severity, state];
            const opened = yield* change(INSERT, [
              id,
              accountId,
              ...about,
              sinceMs,
              firedAtMs,
              each.usualPauseMs ?? null,
            ]);
            if (state === "firing") shown += opened;
            break;
          }
          case "fire":
            shown += yield* change(FIRE, [each.severity, nowMs, each.id]);
            break;
          case "clear":
            yield* change(CLEAR, [each.clearSinceMs ?? null, each.id]);
            break;
          case "resolve":
            if ((yield* change(RESOLVE, [nowMs, each.id])) > 0) {
              shown += 1;
              yield* change(MAKE_DUE, [nowMs, each.id]);
            }
            break;
          case "drop":
            yield* change(DROP, [each.id]);
        }
      }
      if (shown > 0) yield* appendAccountEvents(accountId, [{ type: "alert.changed" }]);
    });
  }

  async removeSurplus(accountId: string): Promise<void> {
    await this.#executor.change(REMOVE_SURPLUS, [accountId, SURPLUS_BATCH, MAX_RESOLVED_ALERTS]);
  }

  async list(accountId: string, filter: AlertFilter, limit: number, after = NEWEST): Promise<AlertPage> {
    const values: Value[] = [accountId, filter.state, after.firedAtMs, after.id];
    const parameter = (value: Value): string => `?${values.push(value)}`;
    // An index or a group has what these two look for.
    let scanned = SCANNED;
    if (filter.subjectId !== undefined) scanned += ` AND subject_id = ${parameter(filter.subjectId)}`;
    if (filter.groupId !== undefined) scanned += ` AND id IN ${MEMBERS.replace("?", parameter(filter.groupId))}`;
    const ofScan = [...values];
    const criteria: string[] = [];
    if (filter.condition !== undefined) criteria.push(`l.condition = ${parameter(filter.condition)}`);
    if (filter.severity !== undefined) criteria.push(`l.severity = ${parameter(filter.severity)}`);
    if (filter.selector !== undefined && filter.selector.length > 0) {
      const matches = matchesSql(this.#executor.dialect, parameter(JSON.stringify(filter.selector)));
      criteria.push(`EXISTS (SELECT 1 FROM assets a WHERE a.uuid = l.subject_id AND ${matches})`);
    }
    const scanLimit = criteria.length === 0 ? limit + 1 : MAX_SCANNED_ALERTS;
    const where = criteria.length === 0 ? "" : `WHERE ${criteria.join(" AND ")}`;
    const sql = `SELECT ${COLUMNS}, ${groupsSql(this.#groups)} FROM (SELECT * ${scanned} ${NEWEST_FIRST} LIMIT ${parameter(scanLimit)}) l
      ${where} ${NEWEST_FIRST} LIMIT ${parameter(limit + 1)}`;
    const rows = await this.#executor.all<StoredRow>(sql, values);
    const last = rows.length > limit ? rows[limit - 1] : await this.#lastScanned(scanned, ofScan, scanLimit);
    return {
      alerts: rows.slice(0, limit).map(toStored),
      next: last && { firedAtMs: last.fired_at_ms, id: last.id },
    };
  }

  /** Returns where a page ends for which as much was looked at as may be. */
  async #lastScanned(scanned: string, values: readonly Value[], scanLimit: number): Promise<PositionRow | undefined> {
    if (scanLimit < MAX_SCANNED_ALERTS) return undefined;
    const sql = `SELECT id, fired_at_ms ${scanned} ${NEWEST_FIRST} LIMIT 1 OFFSET ?${values.length + 1}`;
    return this.#executor.one<PositionRow>(sql, [...values, scanLimit - 1]);
  }

  async find(accountId: string, id: string): Promise<StoredAlert | undefined> {
    const row = await this.#executor.one<StoredRow>(findSql(this.#groups), [id, accountId]);
    return row && toStored(row);
  }

  async countFiring(accountId: string): Promise<{ readonly firing: number; readonly unacknowledged: number }> {
    const counts = await this.#executor.one<{ firing: number; unacknowledged: number }>(COUNT_FIRING, [accountId]);
    return counts ?? { firing: 0, unacknowledged: 0 };
  }

  async acknowledge(
    accountId: string,
    of: { readonly ids: readonly string[] } | { readonly groupId: string },
    nowMs: number,
    by: string,
    audit: AuditEntry,
  ): Promise<number> {
    const [sql, value] =
      "ids" in of ? [this.#acknowledgeIds, JSON.stringify(of.ids)] : [acknowledgeSql(MEMBERS), of.groupId];
    return this.#executor.transact(function* (): Work<number> {
      const count = yield* change(sql, [nowMs, by, accountId, value]);
      if (count === 0) return 0;
      yield* recordAudit({ ...audit, details: { ...audit.details, count } });
      yield* appendAccountEvents(accountId, [{ type: "alert.changed" }]);
      return count;
    });
  }
}

function toHabits({
  epoch,
  level_millis: millis,
  level_at_ms,
  flaps_until_ms,
  away_since_ms,
  pauses,
}: ChangedRow): DeviceHabits {
  return {
    epoch: epoch ?? undefined,
    level: millis / 1000,
    levelAtMs: level_at_ms,
    flapsUntilMs: flaps_until_ms,
    awaySinceMs: away_since_ms ?? undefined,
    pauses: JSON.parse(pauses) as DeviceHabits["pauses"],
  };
}

function toOpen(row: OpenRow): OpenAlert {
  return {
    id: row.id,
    condition: row.condition,
    severity: row.severity,
    subject: toSubject(row),
    state: row.state,
    sinceMs: row.since_ms,
    clearSinceMs: row.clear_since_ms ?? undefined,
    firedAtMs: row.fired_at_ms ?? undefined,
    isAcknowledged: row.acknowledged_at_ms !== null,
    routeIds: JSON.parse(row.routes ?? "[]") as string[],
  };
}

function toStored(row: StoredRow): StoredAlert {
  return {
    id: row.id,
    condition: row.condition,
    subject: { kind: row.subject_kind, id: row.subject_id, name: row.subject_name },
    severity: row.severity,
    state: row.state,
    sinceMs: row.since_ms,
    firedAtMs: row.fired_at_ms,
    resolvedAtMs: row.resolved_at_ms ?? undefined,
    usualPauseMs: row.usual_pause_ms ?? undefined,
    acknowledgedAtMs: row.acknowledged_at_ms ?? undefined,
    acknowledgedBy: row.acknowledged_by ?? undefined,
    groupIds: (JSON.parse(row.group_ids ?? "[]") as string[]).toSorted(),
  };
}
