import type { MemberStateName } from "../../../protocol/fleet-member.ts";
import type { SelectorTerm } from "../../../protocol/selector.ts";
import type { Fleet } from "../../core/fleets/fleet.ts";
import type { Member, MemberState } from "../fleets.ts";
import type { Executor } from "./executor.ts";
import { REMOVE_MEMBER } from "./app-owners.ts";
import { MEMBER_COLUMNS, type MemberRow, toMember } from "./members.ts";
import { findTagTerm, hasTagSql, matchesSql } from "./selector-sql.ts";
import { all, change, type Value, type Work } from "./statement.ts";

interface AssetRow {
  readonly uuid: string;
  readonly name: string;
}

interface MatchRow extends AssetRow {
  readonly type: string;
  readonly tags: string | null;
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
    return rows.map(({ uuid, name, type, tags }) => ({
      assetUuid: uuid,
      assetName: name,
      type,
      tags: new Map(Object.entries(JSON.parse(tags ?? "{}") as Record<string, string>)),
    }));
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
    const first = findTagTerm(selector);
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
