import { ALERT_CONDITIONS, HEALTH_CONDITIONS, type ServiceCondition } from "../../../protocol/alerts/condition.ts";
import { type AttentionReason } from "../../../protocol/assets/attention.ts";
import { type HealthMetric, MAX_HEALTH_VALUE, MIN_HEALTH_VALUE } from "../../../protocol/link/device-health.ts";
import type { HealthRow } from "../../../protocol/link/health-points.ts";
import { decodeHealthRows, HEALTH_REPORT_ROW_S } from "../../../protocol/link/health-rows.ts";
import type { RolloutStrategy } from "../../../protocol/fleets/rollout-strategy.ts";
import type { Observation } from "../../core/alerts/alert.ts";
import type { Level } from "../../core/alerts/levels.ts";
import { absentSinceMs, type DeviceHabits, usualPauseMs } from "../../core/alerts/habits.ts";
import { bitsAt, reasonsOfBits } from "../../core/attention.ts";
import { awaitsAdvance } from "../../core/fleets/progress.ts";
import { type AlertTime, MAX_AGENT_VERSIONS, MAX_OBSERVED_CODES, type ServiceTrouble } from "../alerts.ts";
import type { Dialect } from "./dialect.ts";
import type { Executor } from "./executor.ts";
import { NOTABLE_HEALTH, OPERATORS } from "./notable-health.ts";
import { COUNT_TARGETS, type CountRow, toCount } from "./target-counts.ts";

/** Longest time before its end at which a key is told of, in seconds. */
const KEY_NOTICE_S = 7 * 86_400;
/** A key that lasts for no longer is renewed by the client that made it. */
const MIN_KEY_LIFE_S = 14 * 86_400;
/** The same of codes with which devices enrol. */
export const CODE_NOTICE_S = 86_400;
const MIN_CODE_LIFE_S = 2 * 86_400;
/** How long a rollout that has failed is told of unless another one follows. */
const ROLLOUT_MEMORY_MS = 7 * 86_400_000;

const BEYOND = `(${HEALTH_CONDITIONS.map((condition, index) => {
  const { metric, side } = ALERT_CONDITIONS[condition].level;
  return `m.${metric} ${OPERATORS[side]} CAST(?${index + 6} AS BIGINT)`;
}).join(" OR ")})`;
/** Limits that no value is beyond: the condition is off. */
const NEVER = { above: MAX_HEALTH_VALUE, below: MIN_HEALTH_VALUE };
/** What a connected device measured longer ago says nothing any more: it sends at least once a day, or nothing. */
const MAX_LEVEL_AGE_MS = 26 * 3_600_000;

/** How long a SIM that was changed at its operator, other than by the service, is told of, in seconds. */
const SIM_CHANGE_S = 86_400;
/** The audit log has these facts for longer. */
const SIM_CHANGES = "e.action IN ('sim.corrected', 'sim.lost')";

/** Accounts in which there may be something to tell: most of them, at most times, have nothing. */
export const LIST_ACCOUNTS = /* sql */ `
  SELECT a.id FROM accounts a WHERE a.id > ?1 AND (
    EXISTS (SELECT 1 FROM asset_states t WHERE t.account_id = a.id AND t.reasons <> 0)
    OR EXISTS (SELECT 1 FROM asset_states t WHERE t.account_id = a.id AND t.instance_id IS NULL AND t.last_seen_at IS NOT NULL)
    OR EXISTS (SELECT 1 FROM alerts l WHERE l.account_id = a.id AND l.state IN ('pending', 'firing'))
    OR EXISTS (SELECT 1 FROM audit e WHERE e.account_id = a.id AND ${SIM_CHANGES} AND e.at > CAST(?4 AS BIGINT))
    OR EXISTS (SELECT 1 FROM fleets f WHERE f.account_id = a.id)
    OR EXISTS (SELECT 1 FROM api_keys k WHERE k.account_id = a.id AND k.expires_at IS NOT NULL)
    OR EXISTS (SELECT 1 FROM enrolment_codes c JOIN assets d ON d.uuid = c.asset_uuid WHERE c.used_at IS NULL
      AND c.expires_at > CAST(?6 AS BIGINT) AND c.expires_at <= CAST(?7 AS BIGINT) AND d.account_id = a.id)
    OR EXISTS (SELECT 1 FROM service_troubles s WHERE s.account_id = a.id AND s.until_ms > CAST(?2 AS BIGINT))
    OR EXISTS (SELECT 1 FROM alert_channels c WHERE c.account_id = a.id AND c.disabled_at_ms IS NOT NULL)
    OR EXISTS (SELECT 1 FROM device_health m WHERE m.account_id = a.id AND ${NOTABLE_HEALTH})
    OR EXISTS (SELECT 1 FROM device_habits h JOIN assets d ON d.uuid = h.asset_uuid
      WHERE h.flaps_until_ms > 0 AND h.flaps_until_ms > CAST(?2 AS BIGINT) AND d.account_id = a.id)
    OR EXISTS (SELECT 1 FROM asset_states t WHERE t.account_id = a.id AND t.agent_version < ?5)
    OR EXISTS (SELECT 1 FROM asset_states t WHERE t.account_id = a.id AND t.agent_version > ?5)
    OR EXISTS (SELECT 1 FROM alert_rules r WHERE r.account_id = a.id AND r.rules LIKE '%"older_than"%'))
  ORDER BY a.id LIMIT ?3`;
const SIM_SINCE = `CAST(?${HEALTH_CONDITIONS.length + 6} AS BIGINT)`;
const OUTDATED = `?${HEALTH_CONDITIONS.length + 7}`;

/** What is to be looked at: each part is a scan of an index that holds no other rows. */
const observeAssetsSql = ({ jsonObject, isOneOf }: Dialect): string => /* sql */ `
  SELECT a.uuid, a.name, a.type, t.instance_id, t.last_seen_at, t.agent_version, t.reasons, t.budget_spent_until, h.flaps_until_ms, h.pauses,
    m.recent AS health,
    (SELECT max(e.at) FROM audit e
      WHERE e.account_id = ?1 AND e.asset_uuid = t.asset_uuid AND e.at > ${SIM_SINCE} AND ${SIM_CHANGES}) AS sim_changed_at,
    (SELECT ${jsonObject("g.key", "g.value")} FROM asset_tags g WHERE g.asset_uuid = a.uuid) AS tags
  FROM asset_states t JOIN assets a ON a.uuid = t.asset_uuid LEFT JOIN device_habits h ON h.asset_uuid = t.asset_uuid
    LEFT JOIN device_health m ON m.asset_uuid = t.asset_uuid AND ${BEYOND}
  WHERE t.asset_uuid IN (
    SELECT asset_uuid FROM asset_states WHERE account_id = ?1 AND reasons <> 0
    UNION
    SELECT asset_uuid FROM asset_states WHERE account_id = ?1 AND instance_id IS NULL AND last_seen_at <= CAST(?2 AS BIGINT)
    UNION
    SELECT asset_uuid FROM device_health m WHERE m.account_id = ?1 AND ${NOTABLE_HEALTH} AND ${BEYOND}
    UNION
    SELECT e.asset_uuid FROM audit e WHERE e.account_id = ?1 AND ${SIM_CHANGES} AND e.at > ${SIM_SINCE}
    UNION
    SELECT asset_uuid FROM asset_states WHERE account_id = ?1 AND ${isOneOf("agent_version", OUTDATED)}
    UNION
    SELECT asset_uuid FROM device_habits WHERE flaps_until_ms > 0 AND flaps_until_ms > CAST(?3 AS BIGINT))
    AND t.account_id = ?1 AND t.asset_uuid > ?4
  ORDER BY t.asset_uuid LIMIT ?5`;
/** What a person has stopped is known to people, unless going back fails. */
const OBSERVE_ROLLOUTS = /* sql */ `
  SELECT r.id, r.state, r.revision, r.strategy, r.wave, r.advance_to, f.name,
    coalesce(r.finished_at_ms, r.wave_entered_at_ms, r.created_at_ms) AS at_ms,
    CASE WHEN r.state = 'running' AND EXISTS (
      SELECT 1 FROM rollout_targets w WHERE w.rollout_id = r.id AND w.state = 'waiting'
        AND w.waits_for IN ('hold', 'conflict', 'variable', 'acceptance')) THEN 1 ELSE 0 END AS has_waiting
  FROM rollouts r JOIN fleets f ON f.id = r.fleet_id
  WHERE f.account_id = ?1 AND r.kind = 'rollout'
    AND r.id = (SELECT max(n.id) FROM rollouts n WHERE n.fleet_id = f.id AND n.kind = 'rollout')
    AND (r.state IN ('awaiting_approval', 'running')
      OR (r.state IN ('paused', 'rolling_back') AND r.stopped_by IS NULL)
      OR (r.state = 'rolled_back' AND r.stopped_by IS NULL AND r.finished_at_ms > CAST(?2 AS BIGINT))
      OR (r.state = 'failed' AND r.finished_at_ms > CAST(?2 AS BIGINT)))`;
const OBSERVE_KEYS = /* sql */ `
  SELECT id, name, expires_at FROM api_keys
  WHERE account_id = ?1 AND revoked_at IS NULL AND login_user_id IS NULL AND expires_at > CAST(?2 AS BIGINT)
    AND expires_at <= CAST(?3 AS BIGINT) AND expires_at - created_at > CAST(?4 AS BIGINT)`;
/** Codes that no device has used, by what an index has. */
const UNUSED_CODES = "c.used_at IS NULL AND c.expires_at > CAST(?2 AS BIGINT) AND c.expires_at <= CAST(?3 AS BIGINT)";
const observeCodesSql = ({ jsonObject }: Dialect): string => /* sql */ `
  SELECT a.uuid, a.name, a.type, c.expires_at,
    (SELECT ${jsonObject("g.key", "g.value")} FROM asset_tags g WHERE g.asset_uuid = a.uuid) AS tags
  FROM enrolment_codes c JOIN assets a ON a.uuid = c.asset_uuid
  WHERE a.account_id = ?1 AND ${UNUSED_CODES} AND c.expires_at - c.created_at > CAST(?4 AS BIGINT)
  ORDER BY a.uuid LIMIT ${MAX_OBSERVED_CODES}`;
/** Reads the index once for each version, however many devices have it. */
const LIST_VERSIONS = /* sql */ `
  WITH RECURSIVE v (version) AS (
    SELECT min(agent_version) FROM asset_states WHERE account_id = ?1 AND agent_version > ''
    UNION ALL
    SELECT (SELECT min(t.agent_version) FROM asset_states t WHERE t.account_id = ?1 AND t.agent_version > v.version)
    FROM v WHERE v.version IS NOT NULL)
  SELECT version FROM v WHERE version IS NOT NULL LIMIT ?2`;
const NOTE_TROUBLE = /* sql */ `
  INSERT INTO service_troubles (account_id, condition, subject_id, subject_name, since_ms, until_ms)
  SELECT id, ?2, ?3, ?4, CAST(?5 AS BIGINT), CAST(?6 AS BIGINT) FROM accounts WHERE id = ?1
  ON CONFLICT (account_id, condition, subject_id) DO UPDATE SET subject_name = excluded.subject_name,
    since_ms = CASE WHEN service_troubles.until_ms >= excluded.since_ms THEN service_troubles.since_ms ELSE excluded.since_ms END,
    until_ms = excluded.until_ms`;
const KEEP_TROUBLE = /* sql */ `
  UPDATE service_troubles SET until_ms = CAST(?5 AS BIGINT)
  WHERE account_id = ?1 AND condition = ?2 AND subject_id = ?3 AND until_ms >= CAST(?4 AS BIGINT)`;
const END_TROUBLE = "DELETE FROM service_troubles WHERE account_id = ? AND condition = ? AND subject_id = ?";
const OBSERVE_TROUBLES = /* sql */ `
  SELECT condition, subject_id, subject_name, since_ms FROM service_troubles
  WHERE account_id = ?1 AND until_ms > CAST(?2 AS BIGINT) ORDER BY condition, subject_id`;
const OBSERVE_CHANNELS =
  "SELECT name, disabled_at_ms FROM alert_channels WHERE account_id = ? AND disabled_at_ms IS NOT NULL";

interface AssetRow {
  readonly uuid: string;
  readonly name: string;
  readonly type: string;
  readonly instance_id: string | null;
  readonly last_seen_at: number | null;
  readonly agent_version: string | null;
  readonly reasons: number;
  readonly budget_spent_until: number | null;
  readonly flaps_until_ms: number | null;
  readonly pauses: string | null;
  readonly tags: string | null;
  /** The newest rows of a device that measures something beyond a limit. */
  readonly health: Uint8Array | null;
  /** When its SIM was changed at the operator last, within the time for which that is told. Unix seconds. */
  readonly sim_changed_at: number | null;
}

interface RolloutRow {
  readonly id: string;
  readonly state: string;
  readonly revision: number;
  readonly strategy: string;
  readonly wave: number;
  readonly advance_to: number | null;
  readonly has_waiting: number;
  readonly name: string;
  readonly at_ms: number;
}

interface CodeRow extends Pick<AssetRow, "uuid" | "name" | "type" | "tags"> {
  readonly expires_at: number;
}

interface TroubleRow {
  readonly condition: ServiceCondition;
  readonly subject_id: string;
  readonly subject_name: string;
  readonly since_ms: number;
}

/** Reads the conditions that hold. */
export class AlertObservations {
  readonly #executor: Executor;
  readonly #observeAssets: string;
  readonly #observeCodes: string;

  constructor(executor: Executor) {
    this.#executor = executor;
    this.#observeAssets = observeAssetsSql(executor.dialect);
    this.#observeCodes = observeCodesSql(executor.dialect);
  }

  async observeAssets(
    accountId: string,
    time: AlertTime,
    after: string,
    limit: number,
  ): Promise<{ readonly observed: readonly Observation[]; readonly last: string | undefined }> {
    const { nowMs, awayBeforeMs, limits, outdated } = time;
    const levels = HEALTH_CONDITIONS.map(
      (condition) => limits.get(condition) ?? NEVER[ALERT_CONDITIONS[condition].level.side],
    );
    const versions = JSON.stringify([...outdated.keys()]);
    const times = [Math.floor(awayBeforeMs / 1000), nowMs];
    const values = [accountId, ...times, after, limit, ...levels, simSince(nowMs), versions];
    const rows = await this.#executor.all<AssetRow>(this.#observeAssets, values);
    return {
      observed: rows.flatMap((row) => toObservations(row, time)),
      last: rows.length < limit ? undefined : rows.at(-1)?.uuid,
    };
  }

  async listAgentVersions(accountId: string): Promise<readonly string[]> {
    const values = [accountId, MAX_AGENT_VERSIONS];
    return (await this.#executor.all<{ readonly version: string }>(LIST_VERSIONS, values)).map(
      ({ version }) => version,
    );
  }

  async observeOthers(accountId: string, nowMs: number): Promise<readonly Observation[]> {
    const now = Math.floor(nowMs / 1000);
    const keyTimes = [now, now + KEY_NOTICE_S, MIN_KEY_LIFE_S];
    const keys = await this.#executor.all<{ readonly id: string; readonly name: string }>(OBSERVE_KEYS, [
      accountId,
      ...keyTimes,
    ]);
    const channels = await this.#executor.all<{ readonly name: string; readonly disabled_at_ms: number }>(
      OBSERVE_CHANNELS,
      [accountId],
    );
    const troubles = await this.#executor.all<TroubleRow>(OBSERVE_TROUBLES, [accountId, nowMs]);
    return [
      ...(await this.#observeCodesOf(accountId, now)),
      ...(await this.#observeRollouts(accountId, nowMs)),
      ...keys.map(({ id, name }): Observation => {
        const subject = { kind: "api_key", id, name } as const;
        return { condition: "key_expiring", subject, sinceMs: undefined, isAway: false };
      }),
      ...channels.map(({ name, disabled_at_ms: sinceMs }): Observation => {
        const subject = { kind: "channel", id: name, name } as const;
        return { condition: "channel_disabled", subject, sinceMs, isAway: false };
      }),
      ...troubles.map(({ condition, subject_id: id, subject_name: name, since_ms: sinceMs }): Observation => {
        return { condition, subject: { kind: "service", id, name }, sinceMs, isAway: false };
      }),
    ];
  }

  async noteTrouble({ accountId, condition, subject, sinceMs, untilMs }: ServiceTrouble): Promise<void> {
    const values = [accountId, condition, subject.id, subject.name, sinceMs, untilMs];
    await this.#executor.change(NOTE_TROUBLE, values);
  }

  async keepTrouble({ accountId, condition, subject, sinceMs, untilMs }: ServiceTrouble): Promise<void> {
    await this.#executor.change(KEEP_TROUBLE, [accountId, condition, subject.id, sinceMs, untilMs]);
  }

  async endTrouble(trouble: Pick<ServiceTrouble, "accountId" | "condition" | "subject">): Promise<void> {
    await this.#executor.change(END_TROUBLE, [trouble.accountId, trouble.condition, trouble.subject.id]);
  }

  async #observeCodesOf(accountId: string, now: number): Promise<readonly Observation[]> {
    const values = [accountId, now, now + CODE_NOTICE_S, MIN_CODE_LIFE_S];
    const rows = await this.#executor.all<CodeRow>(this.#observeCodes, values);
    return rows.map(({ uuid: id, name, type, tags: text, expires_at: expiresAt }) => {
      const tags = new Map(Object.entries(JSON.parse(text ?? "{}") as Record<string, string>));
      const subject = { kind: "asset", id, name, type, tags } as const;
      const sinceMs = (expiresAt - CODE_NOTICE_S) * 1000;
      return { condition: "code_expiring", subject, sinceMs, isAway: false };
    });
  }

  async #observeRollouts(accountId: string, nowMs: number): Promise<readonly Observation[]> {
    const rows = await this.#executor.all<RolloutRow>(OBSERVE_ROLLOUTS, [accountId, nowMs - ROLLOUT_MEMORY_MS]);
    const observed: Observation[] = [];
    for (const row of rows) {
      const { id, state, revision, name, at_ms: sinceMs } = row;
      const isRunning = state === "running";
      if (isRunning && row.has_waiting === 0 && !(await this.#awaitsAdvance(row))) continue;
      const condition = isRunning || state === "awaiting_approval" ? "rollout_waiting" : "rollout_stopped";
      const subject = { kind: "rollout", id, name: `${name} revision ${revision}` } as const;
      observed.push({ condition, subject, sinceMs, isAway: false });
    }
    return observed;
  }

  async #awaitsAdvance({ id, strategy: text, wave, advance_to }: RolloutRow): Promise<boolean> {
    const strategy = JSON.parse(text) as RolloutStrategy;
    // Most rollouts go on by themselves: their targets are not counted.
    if (strategy.waves[wave]?.advance !== "manual") return false;
    const counts = (await this.#executor.all<CountRow>(COUNT_TARGETS, [id])).map(toCount);
    return awaitsAdvance({ strategy, wave, advanceTo: advance_to ?? undefined }, counts);
  }
}

/** Returns since when SIMs must have been changed to be told of. Unix seconds. */
export function simSince(nowMs: number): number {
  return Math.floor(nowMs / 1000) - SIM_CHANGE_S;
}

function toObservations(
  row: AssetRow,
  { nowMs, awayBeforeMs, outage, limits, outdated }: AlertTime,
): readonly Observation[] {
  const { uuid, name, type, instance_id, last_seen_at: lastSeen, reasons, budget_spent_until, flaps_until_ms } = row;
  const tags = new Map(Object.entries(JSON.parse(row.tags ?? "{}") as Record<string, string>));
  const subject = { kind: "asset", id: uuid, name, type, tags } as const;
  const isAway = instance_id === null;
  const observed: Observation[] = [];
  const absentMs = isAway && lastSeen !== null ? absentSinceMs(lastSeen * 1000, outage) : undefined;
  if (absentMs !== undefined && absentMs <= awayBeforeMs) {
    const pauses = JSON.parse(row.pauses ?? "[]") as DeviceHabits["pauses"];
    const usual = usualPauseMs(pauses, nowMs);
    observed.push({ condition: "device_offline", subject, sinceMs: absentMs, isAway, usualPauseMs: usual });
  }
  if ((flaps_until_ms ?? 0) > nowMs) {
    observed.push({ condition: "device_flapping", subject, sinceMs: undefined, isAway });
  }
  const held: Exclude<AttentionReason, "not_seen">[] = reasonsOfBits(
    bitsAt(reasons, budget_spent_until, Math.floor(nowMs / 1000)),
  ).filter((reason) => reason !== "not_seen");
  for (const condition of held) observed.push({ condition, subject, sinceMs: undefined, isAway });
  if (row.sim_changed_at !== null)
    observed.push({ condition: "sim_changed", subject, sinceMs: row.sim_changed_at * 1000, isAway });
  const { agent_version: agentVersion } = row;
  if (agentVersion !== null && outdated.has(agentVersion))
    observed.push({ condition: "agent_outdated", subject, sinceMs: outdated.get(agentVersion), isAway, agentVersion });
  const rows = row.health === null ? [] : (decodeHealthRows(row.health, HEALTH_REPORT_ROW_S) ?? []);
  if (!isAway && ((rows.at(-1)?.at ?? 0) + HEALTH_REPORT_ROW_S) * 1000 < nowMs - MAX_LEVEL_AGE_MS) return observed;
  for (const condition of HEALTH_CONDITIONS) {
    const { metric, side } = ALERT_CONDITIONS[condition].level;
    const levels = levelsOf(rows, metric);
    const newest = levels.at(-1)?.value;
    const limit = limits.get(condition) ?? NEVER[side];
    if (newest === undefined || (side === "above" ? newest <= limit : newest >= limit)) continue;
    observed.push({ condition, subject, sinceMs: undefined, isAway, levels });
  }
  return observed;
}

/** Returns the means of the metric, and nothing where the newest row does not have it. */
function levelsOf(rows: readonly HealthRow[], metric: HealthMetric): readonly Level[] {
  if (rows.at(-1)?.spreads[metric] === undefined) return [];
  return rows.flatMap(({ at, spreads }) => {
    const value = spreads[metric]?.[1];
    return value === undefined ? [] : [{ fromMs: at * 1000, untilMs: (at + HEALTH_REPORT_ROW_S) * 1000, value }];
  });
}
