import type { DeploymentAction } from "../../../protocol/deployments/deployment-action.ts";
import type { DeploymentStatus } from "../../../protocol/deployments/deployment-event.ts";
import type { ErrorCode } from "../../../protocol/errors/errors.ts";
import type { DeviceReport } from "../../core/device-report.ts";
import type { FactsScope, FactsTime, StoredAttempt, TargetWithFacts } from "../rollouts.ts";
import { isConnectedSql, lastSeenSql, renewalOffset } from "./asset-row.ts";
import type { Dialect } from "./dialect.ts";
import { TARGET_COLUMNS, type TargetRow, toTarget } from "./rollout-row.ts";
import type { Value } from "./statement.ts";

interface FactsRow extends TargetRow {
  readonly is_connected: boolean | 0 | 1 | null;
  readonly last_seen_at: number | null;
  readonly protocol: number | null;
  readonly agent_version: string | null;
  readonly report: string | null;
  readonly reported_at: number | null;
  readonly held_since: number | null;
  readonly hold: number;
  readonly hold_until_ms: number | null;
  readonly accepted_at: number | null;
  readonly replaced_at_ms: number | null;
  readonly created_at: number;
  readonly others: string | null;
  readonly is_busy: number;
  readonly asset_type: string;
  readonly tags: string | null;
  readonly variables: string | null;
  readonly d_action: DeploymentAction | null;
  readonly d_status: DeploymentStatus | null;
  readonly d_code: ErrorCode | null;
  readonly d_acknowledged_at_ms: number | null;
  readonly d_finished_at_ms: number | null;
  readonly d_event: string | null;
}

/** Number of the parameters of `factsSql`; those of its condition follow. */
export const FACTS_PARAMETERS = 5;

/** Returns the statement for targets with facts. Its parameters are `factsValues` and those of the condition. */
export function factsSql(dialect: Dialect, condition: string): string {
  return /* sql */ `
    SELECT ${TARGET_COLUMNS}, ${isConnectedSql("?1")} AS is_connected, ${lastSeenSql("?1", "?2")} AS last_seen_at, s.protocol, t.agent_version,
      p.report, p.reported_at, p.held_since,
      CASE WHEN h.asset_uuid IS NULL THEN 0 ELSE 1 END AS hold, h.until_ms AS hold_until_ms,
      t.accepted_at, t.replaced_at_ms, a.created_at,
      (SELECT ${dialect.jsonObject("o.app", "f.name")} FROM app_owners o JOIN fleets f ON f.id = o.fleet_id
        WHERE o.asset_uuid = x.asset_uuid AND o.fleet_id <> ?3 AND o.app IN ${dialect.jsonTexts("?4")}) AS others,
      CASE WHEN EXISTS (SELECT 1 FROM rollout_targets y LEFT JOIN deployments z ON z.id = y.deployment_id
        WHERE y.asset_uuid = x.asset_uuid AND y.rollout_id <> x.rollout_id AND (y.state = 'deploying' OR z.status = 'Running'))
        THEN 1 ELSE 0 END AS is_busy,
      a.type AS asset_type,
      (SELECT ${dialect.jsonObject("g.key", "g.value")} FROM asset_tags g WHERE g.asset_uuid = x.asset_uuid) AS tags,
      (SELECT ${dialect.jsonList("v.name")} FROM asset_variables v WHERE v.asset_uuid = x.asset_uuid) AS variables,
      d.action AS d_action, d.status AS d_status, d.code AS d_code, d.acknowledged_at_ms AS d_acknowledged_at_ms, d.finished_at_ms AS d_finished_at_ms,
      e.event AS d_event
    FROM rollout_targets x
    JOIN assets a ON a.uuid = x.asset_uuid
    LEFT JOIN asset_states t ON t.asset_uuid = x.asset_uuid
    LEFT JOIN device_sessions s ON s.asset_uuid = x.asset_uuid
    LEFT JOIN device_reports p ON p.asset_uuid = x.asset_uuid
    LEFT JOIN asset_holds h ON h.asset_uuid = x.asset_uuid
    LEFT JOIN deployments d ON d.id = x.deployment_id
    LEFT JOIN deployment_events e ON e.deployment_id = d.id AND e.seq = d.last_seq
    WHERE x.rollout_id = ?5 AND ${condition}`;
}

export function factsValues(scope: FactsScope): Value[] {
  return [scope.serviceNowMs, renewalOffsetOf(scope), scope.fleetId, JSON.stringify(scope.apps), scope.rolloutId];
}

export const renewalOffsetOf = ({ now, serviceNowMs }: FactsTime): number =>
  renewalOffset({ now, serviceNowMs, notSeenBefore: 0 });

export function toTargetWithFacts(row: unknown): TargetWithFacts {
  const facts = row as FactsRow;
  const owners = Object.entries(parseOr<Record<string, string>>(facts.others, {}));
  return {
    target: toTarget(facts),
    facts: {
      isConnected: Boolean(facts.is_connected),
      connectedSinceMs: facts.is_connected ? (facts.last_seen_at ?? 0) * 1000 : undefined,
      protocol: facts.protocol ?? undefined,
      agentVersion: facts.agent_version ?? undefined,
      lastSeenAtMs: facts.last_seen_at === null ? undefined : facts.last_seen_at * 1000,
      report: toReport(facts),
      heldUntilMs: facts.hold === 0 ? undefined : (facts.hold_until_ms ?? Infinity),
      unacceptedSinceMs: facts.accepted_at === null ? (facts.replaced_at_ms ?? facts.created_at * 1000) : undefined,
      conflicts: owners.map(([app, fleet]) => ({ app, fleet })),
      isBusy: facts.is_busy === 1,
    },
    deployment: toAttempt(facts),
    assetType: facts.asset_type,
    tags: new Map(Object.entries(parseOr<Record<string, string>>(facts.tags, {}))),
    variableNames: new Set(parseOr<string[]>(facts.variables, [])),
  };
}

function toReport({ report, reported_at, held_since }: FactsRow): TargetWithFacts["facts"]["report"] {
  if (report === null || reported_at === null) return undefined;
  const { apps, device, removals } = JSON.parse(report) as DeviceReport;
  return {
    apps,
    device,
    removals,
    atMs: reported_at * 1000,
    heldSinceMs: held_since === null ? undefined : held_since * 1000,
  };
}

function toAttempt(row: FactsRow): StoredAttempt | undefined {
  if (row.deployment_id === null || row.d_status === null || row.d_action === null) return undefined;
  return {
    id: row.deployment_id,
    action: row.d_action,
    status: row.d_status,
    code: row.d_code ?? undefined,
    acknowledgedAtMs: row.d_acknowledged_at_ms ?? undefined,
    finishedAtMs: row.d_finished_at_ms ?? undefined,
    lastEvent: row.d_event ?? undefined,
  };
}

export function parseOr<T>(json: string | null, absent: T): T {
  return json === null ? absent : (JSON.parse(json) as T);
}
