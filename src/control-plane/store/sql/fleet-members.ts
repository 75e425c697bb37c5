import type { MemberStateName } from "../../../protocol/fleets/fleet-member.ts";
import type { SelectorTerm } from "../../../protocol/fleets/selector.ts";
import type { Fleet } from "../../core/fleets/fleet.ts";
import type { Candidate, Member, MemberState } from "../fleets.ts";
import type { FactsTime } from "../rollouts.ts";
import { isConnectedSql, lastSeenSql } from "./asset-row.ts";
import type { Executor } from "./executor.ts";
import { REMOVE_MEMBER } from "./app-owners.ts";
import { MEMBER_COLUMNS, type MemberRow, toMember } from "./members.ts";
import { hasTagSql, matchesSql, tagTermsOf } from "./selector-sql.ts";
import { all, change, type Value, type Work } from "./statement.ts";
import { parseOr, renewalOffsetOf } from "./target-facts.ts";

interface AssetRow {
  readonly uuid: string;
  readonly name: string;
}

interface MatchRow extends AssetRow {
  readonly type: string;
  readonly tags: string | null;
}

interface CandidateRow extends MatchRow {
  readonly serial_number: string;
  readonly is_connected: boolean | 0 | 1 | null;
  readonly last_seen_at: number | null;
  readonly protocol: number | null;
  readonly agent_version: string | null;
  readonly hold: number;
  readonly hold_until_ms: number | null;
  readonly accepted_at: number | null;
  readonly replaced_at_ms: number | null;
  readonly created_at: number;
  readonly others: string | null;
  readonly is_busy: number;
  readonly variables: string | null;
}

interface StateRow extends AssetRow, MemberRow {
  readonly serial_number: string;
  readonly reported_at: number | null;
  readonly others: string | null;
}

const REMOVE_OWNER = "DELETE FROM app_owners WHERE fleet_id = ? AND asset_uuid = ?";

/** What selectors match. Two statements for each list: with a tag to begin with, and without. */
export class MemberList {
  readonly #executor: Executor;
  readonly #leavers: string;

  constructor(executor: Executor) {
    this.#executor = executor;
    this.#leavers = /* sql */ `
      SELECT a.uuid FROM assets a WHERE a.uuid IN (
        SELECT o.asset_uuid FROM app_owners o WHERE o.fleet_id = ?1
        UNION SELECT m.asset_uuid FROM fleet_members m WHERE m.fleet_id = ?1)
      AND NOT (${matchesSql(executor.dialect, "?2")}) LIMIT ?3`;
  }

  async list(
    accountId: string,
    selector: readonly SelectorTerm[],
    limit: number,
    after = "",
  ): Promise<readonly Member[]> {
    const { condition, values } = this.#matching(accountId, selector);
    const sql = /* sql */ `
      SELECT a.uuid, a.name, a.type, (
        SELECT ${this.#executor.dialect.jsonObject("g.key", "g.value")} FROM asset_tags g WHERE g.asset_uuid = a.uuid) AS tags
      FROM assets a WHERE ${condition} AND a.uuid > ?5 ORDER BY a.uuid LIMIT ?6`;
    const rows = await this.#executor.all<MatchRow>(sql, [...values, after, limit]);
    return rows.map(toMatch);
  }

  async listCandidates(
    { id, accountId, apps }: Fleet,
    selector: readonly SelectorTerm[],
    time: FactsTime,
    limit: number,
    after = "",
  ): Promise<readonly Candidate[]> {
    const { condition, values } = this.#matching(accountId, selector);
    const { jsonList, jsonObject, jsonTexts } = this.#executor.dialect;
    const sql = /* sql */ `
      SELECT a.uuid, a.name, a.type, a.serial_number, a.created_at, ${isConnectedSql("?9")} AS is_connected,
        ${lastSeenSql("?9", "?10")} AS last_seen_at, s.protocol, t.agent_version, t.accepted_at, t.replaced_at_ms,
        CASE WHEN h.asset_uuid IS NULL THEN 0 ELSE 1 END AS hold, h.until_ms AS hold_until_ms,
        (SELECT ${jsonObject("g.key", "g.value")} FROM asset_tags g WHERE g.asset_uuid = a.uuid) AS tags,
        (SELECT ${jsonList("v.name")} FROM asset_variables v WHERE v.asset_uuid = a.uuid) AS variables,
        (SELECT ${jsonObject("o.app", "f.name")} FROM app_owners o JOIN fleets f ON f.id = o.fleet_id
          WHERE o.asset_uuid = a.uuid AND o.fleet_id <> ?7 AND o.app IN ${jsonTexts("?8")}) AS others,
        CASE WHEN EXISTS (SELECT 1 FROM rollout_targets y LEFT JOIN deployments z ON z.id = y.deployment_id
          WHERE y.asset_uuid = a.uuid AND (y.state = 'deploying' OR z.status = 'Running')) THEN 1 ELSE 0 END AS is_busy
      FROM assets a
      LEFT JOIN asset_states t ON t.asset_uuid = a.uuid
      LEFT JOIN device_sessions s ON s.asset_uuid = a.uuid
      LEFT JOIN asset_holds h ON h.asset_uuid = a.uuid
      WHERE ${condition} AND a.uuid > ?5 ORDER BY a.uuid LIMIT ?6`;
    const facts = [id, JSON.stringify(apps), time.serviceNowMs, renewalOffsetOf(time)];
    return (await this.#executor.all<CandidateRow>(sql, [...values, after, limit, ...facts])).map(toCandidate);
  }

  async count(accountId: string, selector: readonly SelectorTerm[]): Promise<number> {
    const { condition, values } = this.#matching(accountId, selector);
    const sql = `SELECT count(*) AS assets FROM assets a WHERE ${condition}`;
    return (await this.#executor.one<{ readonly assets: number }>(sql, values))?.assets ?? 0;
  }

  async listWithState(
    { id, accountId, apps }: Fleet,
    selector: readonly SelectorTerm[],
    limit: number,
    after = "",
    states: readonly MemberStateName[] = [],
  ): Promise<readonly MemberState[]> {
    const { condition, values } = this.#matching(accountId, selector);
    const { jsonTexts } = this.#executor.dialect;
    const sql = /* sql */ `
      SELECT a.uuid, a.name, a.serial_number, p.reported_at, ${MEMBER_COLUMNS}, (
        SELECT min(o.app) FROM app_owners o
        WHERE o.asset_uuid = a.uuid AND o.fleet_id <> ?7 AND o.app IN ${jsonTexts("?8")}) AS others
      FROM assets a LEFT JOIN fleet_members m ON m.fleet_id = ?7 AND m.asset_uuid = a.uuid
      LEFT JOIN device_reports p ON p.asset_uuid = a.uuid
      WHERE ${condition} AND a.uuid > ?5 AND (CAST(?9 AS TEXT) = '[]' OR coalesce(m.state, 'waiting') IN ${jsonTexts("?9")})
      ORDER BY a.uuid LIMIT ?6`;
    const rows = await this.#executor.all<StateRow>(sql, [
      ...values,
      after,
      limit,
      id,
      JSON.stringify(apps),
      JSON.stringify(states),
    ]);
    return rows.map((row) =>
      Object.assign(toMember(row), {
        assetUuid: row.uuid,
        assetName: row.name,
        serialNumber: row.serial_number,
        reportedAt: row.reported_at ?? undefined,
        conflict: row.others ?? undefined,
      }),
    );
  }

  async releaseLeavers({ id }: Fleet, selector: readonly SelectorTerm[], limit: number): Promise<readonly string[]> {
    const leavers = this.#leavers;
    return this.#executor.transact(function* (): Work<readonly string[]> {
      const rows = yield* all<{ readonly uuid: string }>(leavers, [id, JSON.stringify(selector), limit]);
      for (const { uuid } of rows) {
        yield* change(REMOVE_OWNER, [id, uuid]);
        yield* change(REMOVE_MEMBER, [id, uuid]);
      }
      return rows.map(({ uuid }) => uuid);
    });
  }

  async releaseDroppedApps(fleetId: string, limit: number): Promise<readonly string[]> {
    // As they are now: an app may be in the list again.
    const dropped = `app NOT IN ${this.#executor.dialect.jsonTexts("(SELECT f.apps FROM fleets f WHERE f.id = ?1)")}`;
    const find = `SELECT DISTINCT asset_uuid AS uuid FROM app_owners WHERE fleet_id = ?1 AND ${dropped} LIMIT ?2`;
    const release = `DELETE FROM app_owners WHERE fleet_id = ?1 AND asset_uuid = ?2 AND ${dropped}`;
    return this.#executor.transact(function* (): Work<readonly string[]> {
      const rows = yield* all<{ readonly uuid: string }>(find, [fleetId, limit]);
      for (const { uuid } of rows) yield* change(release, [fleetId, uuid]);
      return rows.map(({ uuid }) => uuid);
    });
  }

  /** Returns the condition with its parameters, ?1 to ?4. */
  #matching(accountId: string, selector: readonly SelectorTerm[]): { condition: string; values: Value[] } {
    const { dialect } = this.#executor;
    const [first] = tagTermsOf(selector);
    const matches = `a.account_id = ?1 AND ${matchesSql(dialect, "?2")}`;
    return {
      // Both texts have all parameters: a database refuses one whose type it cannot know.
      condition: first
        ? `${hasTagSql(dialect, "?1", "?3", "?4")} AND ${matches}`
        : `${matches} AND CAST(?3 AS TEXT) = '' AND CAST(?4 AS TEXT) = ''`,
      values: [accountId, JSON.stringify(selector), first?.key ?? "", first ? JSON.stringify(first.values) : ""],
    };
  }
}

function toMatch({ uuid, name, type, tags }: MatchRow): Member {
  return {
    assetUuid: uuid,
    assetName: name,
    type,
    tags: new Map(Object.entries(parseOr<Record<string, string>>(tags, {}))),
  };
}

function toCandidate(row: CandidateRow): Candidate {
  const owners = Object.entries(parseOr<Record<string, string>>(row.others, {}));
  return {
    ...toMatch(row),
    serialNumber: row.serial_number,
    facts: {
      isConnected: Boolean(row.is_connected),
      protocol: row.protocol ?? undefined,
      agentVersion: row.agent_version ?? undefined,
      lastSeenAtMs: row.last_seen_at === null ? undefined : row.last_seen_at * 1000,
      heldUntilMs: row.hold === 0 ? undefined : (row.hold_until_ms ?? Infinity),
      unacceptedSinceMs: row.accepted_at === null ? (row.replaced_at_ms ?? row.created_at * 1000) : undefined,
      conflicts: owners.map(([app, fleet]) => ({ app, fleet })),
      isBusy: row.is_busy === 1,
    },
    variableNames: new Set(parseOr<string[]>(row.variables, [])),
  };
}
