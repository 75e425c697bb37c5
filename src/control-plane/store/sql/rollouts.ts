import type { RolloutEvent, TargetState } from "../../../protocol/fleets/rollout.ts";
import type { Fleet } from "../../core/fleets/fleet.ts";
import type { StoredPlan } from "../../core/fleets/waves.ts";
import { isAmendment, type PastAttempt } from "../../core/fleets/attempt.ts";
import type { Rollout, Target } from "../../core/fleets/rollout.ts";
import type { TargetWait } from "../../core/fleets/rollout-commands.ts";
import type { AuditEntry } from "../audit.ts";
import {
  type Beginning,
  type FactsScope,
  type FailureCount,
  type ListedTarget,
  type RolloutChange,
  type RolloutFence,
  type RolloutStore,
  StaleRolloutError,
  type TargetChange,
  type TargetCount,
  type TargetFilter,
  type TargetWithFacts,
} from "../rollouts.ts";
import { countFailedAttempts, keepAttempt, listAttempts, REMOVE_LEFT_ATTEMPTS } from "./rollout-attempts.ts";
import { claimApps, CLEAR_MEMBER, SET_MEMBER } from "./app-owners.ts";
import { appendAccountEvents } from "./append-events.ts";
import { recordAudit } from "./audit.ts";
import type { Executor } from "./executor.ts";
import { FLEET_COLUMNS, type FleetRow, toFleet } from "./fleet-row.ts";
import {
  INSERT_ROLLOUT,
  INSERT_TARGET,
  ROLLOUT_COLUMNS,
  type RolloutRow,
  rolloutValues,
  TARGET_COLUMNS,
  type TargetRow,
  targetValues,
  toRollout,
  toTarget,
  UPDATE_ROLLOUT,
  UPDATE_TARGET,
} from "./rollout-row.ts";
import { createPlan, FIND_PLAN, type PlanRow, REMOVE_PLAN, toPlan } from "./rollout-plans.ts";
import { all, change, one, type Value, type Work } from "./statement.ts";
import { COUNT_TARGETS, type CountRow, LIST_WAITS, toCount, toWait, type WaitRow } from "./target-counts.ts";
import { FACTS_PARAMETERS, factsSql, factsValues, toTargetWithFacts } from "./target-facts.ts";

const FIND = `SELECT ${ROLLOUT_COLUMNS} FROM rollouts r WHERE r.id = ?`;
const FIND_UPKEEP = `SELECT ${ROLLOUT_COLUMNS} FROM rollouts r WHERE r.fleet_id = ? AND r.kind = 'upkeep'`;
// Ids rise with the time.
const LIST = /* sql */ `
  SELECT ${ROLLOUT_COLUMNS} FROM rollouts r WHERE r.fleet_id = ? AND r.kind = 'rollout' AND r.id < ? ORDER BY r.id DESC LIMIT ?`;
const LIST_ACTIVE = /* sql */ `
  SELECT id, account_id AS "accountId", fleet_id AS "fleetId", kind FROM rollouts WHERE is_active = 1 ORDER BY id`;
const LIST_EARLIER = /* sql */ `
  SELECT ${ROLLOUT_COLUMNS} FROM rollouts r WHERE r.fleet_id = ? AND r.kind = 'rollout' AND r.is_active = 1
    AND r.state NOT IN ('succeeded', 'failed', 'cancelled', 'superseded', 'rolled_back') ORDER BY r.id`;
const LIST_WITHOUT_UPKEEP = /* sql */ `
  SELECT ${FLEET_COLUMNS} FROM fleets f WHERE f.stable_revision IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM rollouts r WHERE r.fleet_id = f.id AND r.kind = 'upkeep') ORDER BY f.id`;
const TAKE_UP = "UPDATE rollouts SET epoch = epoch + 1 WHERE id = ?";
const FIND_FLEET = "SELECT name FROM fleets WHERE id = ?";
const NEXT_SEQ = "UPDATE rollouts SET last_seq = last_seq + 1 WHERE id = ? RETURNING last_seq";
const INSERT_EVENT = "INSERT INTO rollout_events (rollout_id, seq, event) VALUES (?, ?, ?)";
const SET_STABLE = "UPDATE fleets SET stable_revision = ?, version = version + 1 WHERE id = ?";
const FIND_TARGET = `SELECT ${TARGET_COLUMNS} FROM rollout_targets x WHERE x.rollout_id = ? AND x.asset_uuid = ?`;
const NEXT_DUE = "SELECT min(due_ms) AS due FROM rollout_targets WHERE rollout_id = ? AND due_ms IS NOT NULL";
const READ_EVENTS =
  "SELECT seq, event AS json FROM rollout_events WHERE rollout_id = ? AND seq > ? ORDER BY seq LIMIT ?";
const REMOVE_OLD = /* sql */ `
  DELETE FROM rollouts WHERE id IN (
    SELECT r.id FROM rollouts r WHERE r.is_active = 0 AND r.finished_at_ms < ?
      AND EXISTS (SELECT 1 FROM rollouts n WHERE n.fleet_id = r.fleet_id AND n.kind = 'rollout' AND n.retry_of IS NULL AND n.id > r.id)
    ORDER BY r.finished_at_ms LIMIT ?)`;

interface ListedTargetRow extends TargetRow {
  readonly asset_name: string;
  readonly serial_number: string;
}

export class SqlRolloutStore implements RolloutStore {
  readonly #executor: Executor;
  readonly #lock: string;
  readonly #keepFleet: string;
  readonly #lockEarlier: string;
  readonly #listTargets: string;
  readonly #listDue: string;
  readonly #readTargets: string;
  readonly #listInState: string;

  constructor(executor: Executor) {
    this.#executor = executor;
    const { dialect } = executor;
    this.#lock = `${FIND} ${dialect.lockRows}`;
    this.#keepFleet = `SELECT id FROM fleets WHERE id = ? ${dialect.lockRows}`;
    this.#lockEarlier = `${LIST_EARLIER} ${dialect.lockRows}`;
    this.#listTargets = /* sql */ `
      SELECT ${TARGET_COLUMNS}, a.name AS asset_name, a.serial_number FROM rollout_targets x JOIN assets a ON a.uuid = x.asset_uuid
      WHERE x.rollout_id = ?1 AND x.asset_uuid > ?2 AND (?3 < 0 OR x.wave = ?3)
        AND (CAST(?4 AS TEXT) = '[]' OR x.state IN ${dialect.jsonTexts("?4")})
        AND (CAST(?6 AS INTEGER) = 0 OR x.state IN ('failed', 'lost', 'refused') OR EXISTS (SELECT 1 FROM rollout_attempts y WHERE y.rollout_id = x.rollout_id
          AND y.asset_uuid = x.asset_uuid AND y.direction = 'forward' AND y.state IN ('failed', 'lost', 'refused')))
      ORDER BY x.asset_uuid LIMIT ?5`;
    const next = FACTS_PARAMETERS + 1;
    this.#listDue = factsSql(dialect, `x.due_ms <= ?${next} ORDER BY x.due_ms LIMIT ?${next + 1}`);
    this.#readTargets = factsSql(dialect, `x.asset_uuid IN ${dialect.jsonTexts(`?${next}`)}`);
    this.#listInState = factsSql(
      dialect,
      `x.state = ?${next} AND x.wave <= ?${next + 1} AND (x.wave, x.asset_uuid) > (?${next + 2}, ?${next + 3})
       ORDER BY x.wave, x.asset_uuid LIMIT ?${next + 4}`,
    );
  }

  async createRollout(
    rollout: Rollout,
    targets: readonly Target[],
    event: Omit<RolloutEvent, "seq">,
    supersede: (earlier: Rollout) => RolloutChange,
    audit?: AuditEntry,
  ): Promise<boolean> {
    const keepFleet = this.#keepFleet;
    const lockEarlier = this.#lockEarlier;
    return this.#executor.transact(function* (): Work<boolean> {
      // Locked: two that are made at the same time would not supersede each other.
      if (!(yield* one(keepFleet, [rollout.fleetId]))) return false;
      if (rollout.kind === "rollout") {
        for (const row of yield* all<RolloutRow>(lockEarlier, [rollout.fleetId])) {
          const earlier = toRollout(row);
          yield* applyChange(earlier, supersede(earlier));
        }
      }
      const { id, accountId, fleetId, kind, retryOf = null, createdBy, createdAtMs } = rollout;
      const identity = [id, accountId, fleetId, kind, retryOf, JSON.stringify(createdBy), createdAtMs];
      yield* change(INSERT_ROLLOUT, [...identity, ...rolloutValues(rollout)]);
      for (const target of targets) yield* change(INSERT_TARGET, targetValues(target));
      yield* applyChange(rollout, { fields: {}, event, ...(audit && { audit }) }, true);
      return true;
    });
  }

  async findRollout(id: string): Promise<Rollout | undefined> {
    const row = await this.#executor.one<RolloutRow>(FIND, [id]);
    return row && toRollout(row);
  }

  async findUpkeep(fleetId: string): Promise<Rollout | undefined> {
    const row = await this.#executor.one<RolloutRow>(FIND_UPKEEP, [fleetId]);
    return row && toRollout(row);
  }

  async listRollouts(fleetId: string, limit: number, before = "~"): Promise<readonly Rollout[]> {
    return (await this.#executor.all<RolloutRow>(LIST, [fleetId, before, limit])).map(toRollout);
  }

  async listActive(): Promise<readonly Pick<Rollout, "id" | "accountId" | "fleetId" | "kind">[]> {
    return this.#executor.all(LIST_ACTIVE);
  }

  async listWithoutUpkeep(): Promise<readonly Fleet[]> {
    return (await this.#executor.all<FleetRow>(LIST_WITHOUT_UPKEEP)).map(toFleet);
  }

  async takeUp(id: string): Promise<Rollout | undefined> {
    return this.#executor.transact(function* (): Work<Rollout | undefined> {
      if ((yield* change(TAKE_UP, [id])) === 0) return undefined;
      const row = yield* one<RolloutRow>(FIND, [id]);
      return row && toRollout(row);
    });
  }

  async updateRollout(
    id: string,
    decide: (rollout: Rollout) => RolloutChange | undefined,
    fence?: RolloutFence,
  ): Promise<Rollout | undefined> {
    const lock = this.#lock;
    return this.#executor.transact(function* (): Work<Rollout | undefined> {
      const row = yield* one<RolloutRow>(lock, [id]);
      if (fence && row?.epoch !== fence.epoch) throw new StaleRolloutError(id);
      const before = row && toRollout(row);
      const decided = before && decide(before);
      return before && decided ? yield* applyChange(before, decided) : before;
    });
  }

  async commandRollout(
    id: string,
    decide: (rollout: Rollout, counts: readonly TargetCount[]) => RolloutChange | undefined,
  ): Promise<Rollout | undefined> {
    const lock = this.#lock;
    return this.#executor.transact(function* (): Work<Rollout | undefined> {
      const row = yield* one<RolloutRow>(lock, [id]);
      if (!row) return undefined;
      const before = toRollout(row);
      // Changes of targets lock the rollout too: none is between this and what is decided.
      const decided = decide(before, (yield* all<CountRow>(COUNT_TARGETS, [id])).map(toCount));
      return decided ? yield* applyChange(before, decided) : before;
    });
  }

  async changeTargets(
    { rolloutId, epoch }: RolloutFence,
    changes: readonly TargetChange[],
    beginning?: Beginning,
  ): Promise<ReadonlySet<string>> {
    if (changes.length === 0) return new Set();
    const lock = this.#lock;
    const { dialect } = this.#executor;
    return this.#executor.transact(function* (): Work<ReadonlySet<string>> {
      const rollout = yield* one<RolloutRow>(lock, [rolloutId]);
      if (rollout?.epoch !== epoch) throw new StaleRolloutError(rolloutId);
      const mayBegin = beginning !== undefined && rollout.version === beginning.beginVersion;
      const changed = new Set<string>();
      for (const { before, after, memberRevision, past } of changes) {
        const { assetUuid } = after;
        if (after.state === "deploying" && before.state !== "deploying") {
          if (!mayBegin) continue;
          const others = yield* claimApps(dialect, rollout.fleet_id, assetUuid, beginning.apps);
          if (others.length > 0) continue;
        }
        const expected = [before.state, before.attempt, before.direction];
        if ((yield* change(UPDATE_TARGET, [...targetValues(after), ...expected])) === 0) continue;
        changed.add(assetUuid);
        if (past) yield* keepAttempt(rolloutId, assetUuid, past, isAmendment(past, before, after));
        if (memberRevision === null) yield* change(CLEAR_MEMBER, [rollout.fleet_id, assetUuid]);
        else if (memberRevision !== undefined) yield* change(SET_MEMBER, [rollout.fleet_id, assetUuid, memberRevision]);
      }
      return changed;
    });
  }

  async addTargets({ rolloutId, epoch }: RolloutFence, targets: readonly Target[]): Promise<number> {
    const lock = this.#lock;
    return this.#executor.transact(function* (): Work<number> {
      const rollout = yield* one<RolloutRow>(lock, [rolloutId]);
      if (rollout?.epoch !== epoch) throw new StaleRolloutError(rolloutId);
      let added = 0;
      for (const target of targets) added += yield* change(INSERT_TARGET, targetValues(target));
      return added;
    });
  }

  async addEvent(
    { rolloutId, epoch }: RolloutFence,
    event: Omit<RolloutEvent, "seq">,
    { isForAccount = false } = {},
  ): Promise<void> {
    const lock = this.#lock;
    await this.#executor.transact(function* (): Work<void> {
      const rollout = yield* one<RolloutRow>(lock, [rolloutId]);
      if (rollout?.epoch !== epoch) throw new StaleRolloutError(rolloutId);
      yield* appendEvent(rolloutId, event);
      if (isForAccount) yield* tellAccount(toRollout(rollout), event);
    });
  }

  async removeTargets({ rolloutId, epoch }: RolloutFence, states: readonly TargetState[]): Promise<number> {
    const lock = this.#lock;
    const remove = /* sql */ `
      DELETE FROM rollout_targets WHERE rollout_id = ?1 AND state IN ${this.#executor.dialect.jsonTexts("?2")}`;
    return this.#executor.transact(function* (): Work<number> {
      const rollout = yield* one<RolloutRow>(lock, [rolloutId]);
      if (rollout?.epoch !== epoch) throw new StaleRolloutError(rolloutId);
      const removed = yield* change(remove, [rolloutId, JSON.stringify(states)]);
      yield* change(REMOVE_LEFT_ATTEMPTS, [rolloutId]);
      return removed;
    });
  }

  async findMissing(rolloutId: string, assetUuids: readonly string[]): Promise<readonly string[]> {
    const sql = /* sql */ `
      SELECT x.asset_uuid FROM rollout_targets x
      WHERE x.rollout_id = ?1 AND x.asset_uuid IN ${this.#executor.dialect.jsonTexts("?2")}`;
    const rows = await this.#executor.all<{ readonly asset_uuid: string }>(sql, [
      rolloutId,
      JSON.stringify(assetUuids),
    ]);
    const known = new Set(rows.map((row) => row.asset_uuid));
    return assetUuids.filter((uuid) => !known.has(uuid));
  }

  async findTarget(rolloutId: string, assetUuid: string): Promise<Target | undefined> {
    const row = await this.#executor.one<TargetRow>(FIND_TARGET, [rolloutId, assetUuid]);
    return row && toTarget(row);
  }

  async listTargets(rolloutId: string, limit: number, filter: TargetFilter = {}): Promise<readonly ListedTarget[]> {
    const { states = [], wave = -1, after = "", hasFailed = false } = filter;
    const values = [rolloutId, after, wave, JSON.stringify(states), limit, Number(hasFailed)];
    const rows = await this.#executor.all<ListedTargetRow>(this.#listTargets, values);
    return rows.map((row) =>
      Object.assign(toTarget(row), { assetName: row.asset_name, serialNumber: row.serial_number }),
    );
  }

  async listAttempts(
    rolloutId: string,
    assetUuids: readonly string[],
  ): Promise<ReadonlyMap<string, readonly PastAttempt[]>> {
    return listAttempts(this.#executor, rolloutId, assetUuids);
  }

  async countFailedAttempts(rolloutId: string): Promise<readonly FailureCount[]> {
    return countFailedAttempts(this.#executor, rolloutId);
  }

  async countTargets(rolloutId: string): Promise<readonly TargetCount[]> {
    return (await this.#executor.all<CountRow>(COUNT_TARGETS, [rolloutId])).map(toCount);
  }

  async listWaits(rolloutId: string): Promise<readonly TargetWait[]> {
    return (await this.#executor.all<WaitRow>(LIST_WAITS, [rolloutId])).map(toWait);
  }

  async listDue(scope: FactsScope, nowMs: number, limit: number): Promise<readonly TargetWithFacts[]> {
    return this.#readFacts(this.#listDue, scope, [nowMs, limit]);
  }

  async readTargets(scope: FactsScope, assetUuids: readonly string[]): Promise<readonly TargetWithFacts[]> {
    return this.#readFacts(this.#readTargets, scope, [JSON.stringify(assetUuids)]);
  }

  async listInState(
    scope: FactsScope,
    state: TargetState,
    upToWave: number,
    limit: number,
    after: Pick<Target, "wave" | "assetUuid"> = { wave: -1, assetUuid: "" },
  ): Promise<readonly TargetWithFacts[]> {
    return this.#readFacts(this.#listInState, scope, [state, upToWave, after.wave, after.assetUuid, limit]);
  }

  async nextDue(rolloutId: string): Promise<number | undefined> {
    return (await this.#executor.one<{ readonly due: number | null }>(NEXT_DUE, [rolloutId]))?.due ?? undefined;
  }

  async readEvents(rolloutId: string, after: number, limit: number) {
    // First: an event that follows is not missed then.
    const rollout = await this.findRollout(rolloutId);
    const events = await this.#executor.all<{ readonly seq: number; readonly json: string }>(READ_EVENTS, [
      rolloutId,
      after,
      limit,
    ]);
    return { events, isOver: rollout === undefined || rollout.finishedAtMs !== undefined };
  }

  async removeOldRollouts(beforeMs: number, limit: number): Promise<number> {
    return this.#executor.change(REMOVE_OLD, [beforeMs, limit]);
  }

  async createPlan(plan: StoredPlan): Promise<void> {
    await this.#executor.transact(() => createPlan(plan));
  }

  async findPlan(id: string): Promise<StoredPlan | undefined> {
    const row = await this.#executor.one<PlanRow>(FIND_PLAN, [id]);
    return row && toPlan(row);
  }

  async removePlan(id: string): Promise<void> {
    await this.#executor.change(REMOVE_PLAN, [id]);
  }

  async #readFacts(sql: string, scope: FactsScope, values: readonly Value[]): Promise<readonly TargetWithFacts[]> {
    return (await this.#executor.all(sql, [...factsValues(scope), ...values])).map(toTargetWithFacts);
  }
}

/** Stores the change with what is told about it. Returns the rollout afterwards. */
function* applyChange(
  before: Rollout,
  { fields, event, audit, stableRevision }: RolloutChange,
  isNew = false,
): Work<Rollout> {
  const after: Rollout = isNew ? before : { ...before, ...fields, version: before.version + 1 };
  if (!isNew) yield* change(UPDATE_ROLLOUT, [...rolloutValues(after), after.id]);
  if (event) yield* appendEvent(after.id, event);
  if (audit) yield* recordAudit(audit);
  if (stableRevision !== undefined) yield* change(SET_STABLE, [stableRevision, after.fleetId]);
  if (isNew || before.state !== after.state || before.wave !== after.wave) yield* tellAccount(after, event);
  return after;
}

function* tellAccount(
  { id, accountId, fleetId, kind, state }: Rollout,
  event: Pick<RolloutEvent, "waits_for_people"> | undefined,
): Work<void> {
  if (kind === "upkeep") return;
  const fleet = yield* one<{ readonly name: string }>(FIND_FLEET, [fleetId]);
  if (!fleet) return;
  const told = { fleet: fleet.name, rollout_id: id, state, waits_for_people: event?.waits_for_people ?? false };
  yield* appendAccountEvents(accountId, [{ type: "rollout.changed", ...told }]);
}

function* appendEvent(rolloutId: string, event: Omit<RolloutEvent, "seq">): Work<void> {
  const row = yield* one<{ readonly last_seq: number }>(NEXT_SEQ, [rolloutId]);
  if (!row) throw new Error(`rollout ${rolloutId} has no number for its event`);
  yield* change(INSERT_EVENT, [rolloutId, row.last_seq, JSON.stringify({ ...event, seq: row.last_seq })]);
}
