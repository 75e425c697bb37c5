import { type MemberStateName, type MemberWait, WRONG_MEMBER_STATES } from "../../../protocol/fleets/fleet-member.ts";
import type { RolloutState, TargetState, WaitReason } from "../../../protocol/fleets/rollout.ts";
import { bitsAt, MEMBER_BITS, reasonsOfBits } from "../../core/attention.ts";
import type { DeviceReport } from "../../core/device-report.ts";
import type { Difference } from "../../core/fleets/judge.ts";
import type { ReportFacts } from "../../core/fleets/target-decision.ts";
import type { Direction } from "../../core/fleets/rollout.ts";
import type { AssetFacts, AttentionChanges, MemberChange, MemberRecord, MemberStore } from "../members.ts";
import type { FactsTime } from "../rollouts.ts";
import { appendAccountEvents } from "./append-events.ts";
import { isConnectedSql, lastSeenSql, renewalOffset } from "./asset-row.ts";
import type { Executor } from "./executor.ts";
import { change, one, type Value, type Work } from "./statement.ts";

interface AssetRow {
  readonly uuid: string;
  readonly type: string;
  readonly is_connected: boolean | 0 | 1 | null;
  readonly last_seen_at: number | null;
  readonly report: string | null;
  readonly reported_at: number | null;
  readonly held_since: number | null;
  readonly hold: number;
  readonly hold_until_ms: number | null;
  readonly hold_reason: string | null;
  readonly accepted_at: number | null;
  readonly replaced_at_ms: number | null;
  readonly created_at: number;
  readonly reasons: number | null;
  readonly agent_version: string | null;
}

interface OfAsset {
  readonly asset_uuid: string;
}

interface TagRow extends OfAsset {
  readonly key: string;
  readonly value: string;
}

interface VariableRow extends OfAsset {
  readonly name: string;
}

interface OwnerRow extends OfAsset {
  readonly app: string;
  readonly fleet_id: string;
  readonly fleet: string;
}

interface TargetRow extends OfAsset {
  /** Of its rollout. */
  readonly id: string;
  readonly fleet_id: string;
  readonly kind: "rollout" | "upkeep";
  readonly rollout_state: RolloutState;
  readonly revision: number;
  readonly direction: Direction;
  readonly state: TargetState;
  readonly waits_for: WaitReason | null;
  readonly due_ms: number | null;
  readonly message: string | null;
}

/** Columns of `fleet_members` that say how a member is. */
export const MEMBER_COLUMNS =
  "m.revision, m.state, m.since_ms, m.waits_for, m.until_ms, m.message, m.differences, m.due_ms, m.repairs, m.repaired_at_ms";

export interface MemberRow {
  readonly revision: number | null;
  readonly state: MemberStateName | null;
  readonly since_ms: number | null;
  readonly waits_for: MemberWait | null;
  readonly until_ms: number | null;
  readonly message: string | null;
  readonly differences: string | null;
  readonly due_ms: number | null;
  /** Null where there is no row. */
  readonly repairs: number | null;
  readonly repaired_at_ms: number | null;
}

const VALUES = `state = ?3, since_ms = CAST(?4 AS BIGINT), waits_for = CAST(?5 AS TEXT), until_ms = CAST(?6 AS BIGINT),
  message = CAST(?7 AS TEXT), differences = CAST(?8 AS TEXT), due_ms = CAST(?9 AS BIGINT), repairs = CAST(?10 AS INTEGER),
  repaired_at_ms = CAST(?11 AS BIGINT), revision = coalesce(CAST(?12 AS BIGINT), revision)`;
const INSERT = /* sql */ `
  INSERT INTO fleet_members (fleet_id, asset_uuid, state, since_ms, waits_for, until_ms, message, differences, due_ms, repairs,
    repaired_at_ms, revision)
  SELECT f.id, a.uuid, CAST(?3 AS TEXT), CAST(?4 AS BIGINT), CAST(?5 AS TEXT), CAST(?6 AS BIGINT), CAST(?7 AS TEXT), CAST(?8 AS TEXT),
    CAST(?9 AS BIGINT), CAST(?10 AS INTEGER), CAST(?11 AS BIGINT), CAST(?12 AS BIGINT)
  FROM fleets f, assets a WHERE f.id = ?1 AND a.uuid = ?2
  ON CONFLICT (fleet_id, asset_uuid) DO NOTHING`;
const UPDATE = /* sql */ `
  UPDATE fleet_members SET ${VALUES} WHERE fleet_id = ?1 AND asset_uuid = ?2
    AND state IS NOT DISTINCT FROM CAST(?13 AS TEXT) AND since_ms IS NOT DISTINCT FROM CAST(?14 AS BIGINT)`;
const REMOVE = "DELETE FROM fleet_members WHERE fleet_id = ? AND asset_uuid = ?";
const SET_ATTENTION = /* sql */ `
  UPDATE asset_states SET reasons = (reasons & ~${MEMBER_BITS}) | CAST(? AS INTEGER) WHERE asset_uuid = ?
  RETURNING reasons, budget_spent_until`;
const FIND_ATTENTION = "SELECT reasons, budget_spent_until FROM asset_states WHERE asset_uuid = ?";
const COUNT =
  "SELECT state, count(*) AS members FROM fleet_members WHERE fleet_id = ? AND state IS NOT NULL GROUP BY state";
const COUNT_ALL = "SELECT state, count(*) AS members FROM fleet_members WHERE state IS NOT NULL GROUP BY state";
const LIST_DUE = /* sql */ `
  SELECT DISTINCT m.asset_uuid FROM fleet_members m JOIN fleets f ON f.id = m.fleet_id
  WHERE m.due_ms <= ? AND f.account_id = ? LIMIT ?`;
const NEXT_DUE = /* sql */ `
  SELECT min(m.due_ms) AS due FROM fleet_members m JOIN fleets f ON f.id = m.fleet_id
  WHERE m.due_ms IS NOT NULL AND f.account_id = ?`;
const LIST_ACCOUNTS = "SELECT DISTINCT account_id FROM fleets";

export class SqlMemberStore implements MemberStore {
  readonly #executor: Executor;
  readonly #assets: string;
  readonly #of: (columns: string, from: string) => string;

  constructor(executor: Executor) {
    this.#executor = executor;
    this.#assets = /* sql */ `
      SELECT a.uuid, a.type, ${isConnectedSql("?1")} AS is_connected, ${lastSeenSql("?1", "?2")} AS last_seen_at,
        p.report, p.reported_at, p.held_since, CASE WHEN h.asset_uuid IS NULL THEN 0 ELSE 1 END AS hold, h.until_ms AS hold_until_ms,
        h.reason AS hold_reason,
        t.accepted_at, t.replaced_at_ms, a.created_at, t.reasons, t.agent_version
      FROM assets a
      LEFT JOIN asset_states t ON t.asset_uuid = a.uuid
      LEFT JOIN device_reports p ON p.asset_uuid = a.uuid
      LEFT JOIN asset_holds h ON h.asset_uuid = a.uuid
      WHERE a.account_id = ?3 AND`;
    this.#of = (columns, from) =>
      `SELECT x.asset_uuid, ${columns} FROM ${from} x.asset_uuid IN ${executor.dialect.jsonTexts("?1")}`;
  }

  async readAssets(time: FactsTime, accountId: string, assetUuids: readonly string[]): Promise<readonly AssetFacts[]> {
    const condition = `a.uuid IN ${this.#executor.dialect.jsonTexts("?4")}`;
    return this.#read(accountId, condition, [...timeValues(time), accountId, JSON.stringify(assetUuids)]);
  }

  async listAssets(time: FactsTime, accountId: string, limit: number, after = ""): Promise<readonly AssetFacts[]> {
    const condition = "a.uuid > ?4 ORDER BY a.uuid LIMIT ?5";
    return this.#read(accountId, condition, [...timeValues(time), accountId, after, limit]);
  }

  async #read(accountId: string, condition: string, values: readonly Value[]): Promise<readonly AssetFacts[]> {
    const executor = this.#executor;
    const assets = await executor.all<AssetRow>(`${this.#assets} ${condition}`, values);
    if (assets.length === 0) return [];
    const uuids = JSON.stringify(assets.map(({ uuid }) => uuid));
    const group = async <Row extends OfAsset>(columns: string, from: string, more: readonly Value[] = []) =>
      Map.groupBy(await executor.all<Row>(this.#of(columns, from), [uuids, ...more]), (row) => row.asset_uuid);
    const tags = await group<TagRow>("x.key, x.value", "asset_tags x WHERE");
    const variables = await group<VariableRow>("x.name", "asset_variables x WHERE");
    const owners = await group<OwnerRow>(
      "x.app, x.fleet_id, f.name AS fleet",
      "app_owners x JOIN fleets f ON f.id = x.fleet_id WHERE",
    );
    const members = await group<MemberRow & OfAsset & { readonly fleet_id: string }>(
      `x.fleet_id, ${MEMBER_COLUMNS.replaceAll("m.", "x.")}`,
      "fleet_members x WHERE",
    );
    const targets = await group<TargetRow>(
      "r.fleet_id, r.kind, r.state AS rollout_state, r.revision, x.direction, x.state, x.waits_for, x.due_ms, x.message, r.id",
      "rollouts r JOIN rollout_targets x ON x.rollout_id = r.id WHERE r.account_id = ?2 AND r.is_active = 1 AND",
      [accountId],
    );
    return assets.map((row) =>
      Object.assign(toAssetFacts(row), {
        tags: new Map(tags.get(row.uuid)?.map(({ key, value }) => [key, value])),
        variableNames: new Set(variables.get(row.uuid)?.map(({ name }) => name)),
        owners: (owners.get(row.uuid) ?? []).map(({ app, fleet_id: fleetId, fleet }) => ({ app, fleetId, fleet })),
        members: new Map(members.get(row.uuid)?.map((member) => [member.fleet_id, toMember(member)])),
        targets: (targets.get(row.uuid) ?? []).toSorted(byRollout).map(toMemberTarget),
      }),
    );
  }

  async changeMembers(
    accountId: string,
    changes: readonly MemberChange[],
    attention: AttentionChanges,
    at: number,
  ): Promise<number> {
    if (changes.length === 0 && attention.size === 0) return 0;
    return this.#executor.transact(function* (): Work<number> {
      let made = 0;
      const told = new Map<string, MemberChange[]>();
      for (const each of changes) {
        const isMade = (yield* change(...statementOf(each))) > 0;
        if (!isMade) continue;
        made++;
        if (isTold(each)) told.set(each.assetUuid, [...(told.get(each.assetUuid) ?? []), each]);
      }
      for (const assetUuid of new Set([...attention.keys(), ...told.keys()])) {
        const bits = attention.get(assetUuid);
        const state = yield* one<AttentionRow>(
          bits === undefined ? FIND_ATTENTION : SET_ATTENTION,
          bits === undefined ? [assetUuid] : [bits, assetUuid],
        );
        if (!state) continue;
        const reasons = reasonsOfBits(bitsAt(state.reasons, state.budget_spent_until, at));
        const events = (told.get(assetUuid) ?? []).map((each) => toEvent(each, reasons));
        yield* appendAccountEvents(
          accountId,
          events.length > 0 ? events : [{ type: "asset.changed", asset_id: assetUuid }],
        );
      }
      return made;
    });
  }

  async countStates(fleetId: string): Promise<ReadonlyMap<MemberStateName, number>> {
    return toCounts(await this.#executor.all<CountRow>(COUNT, [fleetId]));
  }

  async countAllStates(): Promise<ReadonlyMap<MemberStateName, number>> {
    return toCounts(await this.#executor.all<CountRow>(COUNT_ALL));
  }

  async listDue(accountId: string, nowMs: number, limit: number): Promise<readonly string[]> {
    const rows = await this.#executor.all<OfAsset>(LIST_DUE, [nowMs, accountId, limit]);
    return rows.map((row) => row.asset_uuid);
  }

  async nextDue(accountId: string): Promise<number | undefined> {
    const row = await this.#executor.one<{ readonly due: number | null }>(NEXT_DUE, [accountId]);
    return row?.due ?? undefined;
  }

  async listAccounts(): Promise<readonly string[]> {
    const rows = await this.#executor.all<{ readonly account_id: string }>(LIST_ACCOUNTS);
    return rows.map(({ account_id: id }) => id);
  }
}

interface AttentionRow {
  readonly reasons: number;
  readonly budget_spent_until: number | null;
}

interface CountRow {
  readonly state: MemberStateName;
  readonly members: number;
}

const toCounts = (rows: readonly CountRow[]) => new Map(rows.map(({ state, members }) => [state, members]));

const timeValues = (time: FactsTime): Value[] => [time.serviceNowMs, renewalOffset({ ...time, notSeenBefore: 0 })];

function statementOf({ fleetId, assetUuid, before, after }: MemberChange): [string, Value[]] {
  const judged = after?.judgement;
  if (!after || !judged) return [REMOVE, [fleetId, assetUuid]];
  const values = [
    fleetId,
    assetUuid,
    judged.state,
    judged.sinceMs,
    judged.waitsFor ?? null,
    judged.untilMs ?? null,
    judged.message ?? null,
    judged.differences.length === 0 ? null : JSON.stringify(judged.differences),
    after.dueMs ?? null,
    after.repairs.count,
    after.repairs.lastAtMs ?? null,
    judged.revision === before?.judgement?.revision ? null : (judged.revision ?? null),
  ];
  if (!before) return [INSERT, values];
  return [UPDATE, [...values, before.judgement?.state ?? null, before.judgement?.sinceMs ?? null]];
}

const isWrong = (state: MemberStateName | undefined): boolean => WRONG_MEMBER_STATES.some((wrong) => wrong === state);

/** Whether people want to hear of the change. */
function isTold({ before, after }: MemberChange): boolean {
  const [from, to] = [before?.judgement?.state, after?.judgement?.state];
  return from !== to && to !== undefined && (isWrong(from) || isWrong(to));
}

function toEvent({ fleet, assetUuid, before, after }: MemberChange, attention: ReturnType<typeof reasonsOfBits>) {
  const { state = "current", message } = after?.judgement ?? {};
  const previous = before?.judgement?.state;
  return {
    type: "member.changed" as const,
    fleet,
    asset_id: assetUuid,
    state,
    ...(previous !== undefined && { previous }),
    ...(message !== undefined && { message }),
    attention,
  };
}

function toAssetFacts(row: AssetRow): Omit<AssetFacts, "tags" | "variableNames" | "owners" | "members" | "targets"> {
  return {
    assetUuid: row.uuid,
    type: row.type,
    isConnected: Boolean(row.is_connected),
    lastSeenAtMs: row.last_seen_at === null ? undefined : row.last_seen_at * 1000,
    agentVersion: row.agent_version ?? undefined,
    heldUntilMs: row.hold === 0 ? undefined : (row.hold_until_ms ?? Infinity),
    holdReason: row.hold_reason ?? undefined,
    unacceptedSinceMs: row.accepted_at === null ? (row.replaced_at_ms ?? row.created_at * 1000) : undefined,
    readReport: () => toReport(row),
    attentionBits: (row.reasons ?? 0) & MEMBER_BITS,
  };
}

function toReport({ report, reported_at: at, held_since: heldSince }: AssetRow): ReportFacts | undefined {
  if (report === null || at === null) return undefined;
  const { apps, device, removals } = JSON.parse(report) as DeviceReport;
  return { apps, device, removals, atMs: at * 1000, heldSinceMs: heldSince === null ? undefined : heldSince * 1000 };
}

/** Ids of rollouts rise with the time. */
const byRollout = (one: TargetRow, other: TargetRow): number => (one.id < other.id ? -1 : 1);

function toMemberTarget(row: TargetRow): AssetFacts["targets"][number] {
  return {
    fleetId: row.fleet_id,
    kind: row.kind,
    rolloutState: row.rollout_state,
    revision: row.revision,
    direction: row.direction,
    state: row.state,
    waitsFor: row.waits_for ?? undefined,
    dueMs: row.due_ms ?? undefined,
    message: row.message ?? undefined,
  };
}

/** Returns what a row of `MEMBER_COLUMNS` says. */
export function toMember(row: MemberRow): MemberRecord & { readonly revision: number | undefined } {
  const { state, since_ms: sinceMs, revision } = row;
  return {
    revision: revision ?? undefined,
    judgement:
      state === null || sinceMs === null
        ? undefined
        : {
            state,
            sinceMs,
            waitsFor: row.waits_for ?? undefined,
            untilMs: row.until_ms ?? undefined,
            message: row.message ?? undefined,
            differences: row.differences === null ? [] : (JSON.parse(row.differences) as Difference[]),
            revision: revision ?? undefined,
          },
    repairs: { count: row.repairs ?? 0, lastAtMs: row.repaired_at_ms ?? undefined },
    dueMs: row.due_ms ?? undefined,
  };
}
