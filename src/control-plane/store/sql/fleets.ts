import { isDeepStrictEqual } from "node:util";
import type { MemberStateName } from "../../../protocol/fleets/fleet-member.ts";
import type { SelectorTerm } from "../../../protocol/fleets/selector.ts";
import type { Fleet, Revision } from "../../core/fleets/fleet.ts";
import type { Sealed } from "../asset-settings.ts";
import type { AuditEntry } from "../audit.ts";
import {
  type AppOwner,
  type Candidate,
  type FleetCreation,
  type FleetFields,
  type FleetStore,
  KEPT_REVISIONS,
  MAX_FLEETS,
  type Member,
  type MemberState,
  type NewRevision,
  type RevisionCreation,
  type StoredRevision,
} from "../fleets.ts";
import type { Precondition } from "../precondition.ts";
import type { FactsTime } from "../rollouts.ts";
import { appendAccountEvents } from "./append-events.ts";
import { claimApps, CLEAR_MEMBER, FIND_OTHER_OWNERS, SET_MEMBER } from "./app-owners.ts";
import { recordAudit } from "./audit.ts";
import type { Executor } from "./executor.ts";
import {
  FLEET_COLUMNS,
  type FleetRow,
  fleetValues,
  INSERT_FLEET,
  INSERT_REVISION,
  REVISION_COLUMNS,
  type RevisionRow,
  revisionValues,
  type SealedRevisionRow,
  toFleet,
  toRevision,
  toStoredRevision,
} from "./fleet-row.ts";
import { MemberList } from "./fleet-members.ts";
import { lockAccount } from "./keys.ts";
import { change, one, type Value, type Work } from "./statement.ts";

const COUNT = "SELECT count(*) AS fleets FROM fleets WHERE account_id = ?";
const FIND = `SELECT ${FLEET_COLUMNS} FROM fleets f WHERE f.account_id = ? AND f.name = ?`;
const FIND_BY_ID = `SELECT ${FLEET_COLUMNS} FROM fleets f WHERE f.id = ?`;
const LIST = /* sql */ `
  SELECT ${FLEET_COLUMNS} FROM fleets f WHERE f.account_id = ? AND f.name > ? ORDER BY f.name LIMIT ?`;
const FIND_NAME = "SELECT id FROM fleets WHERE account_id = ? AND name = ?";
const UPDATE = /* sql */ `
  UPDATE fleets SET name = ?, selector = ?, apps = ?, strategy = ?, on_drift = ?, stable_revision = ?, paused_reason = ?, version = version + 1
  WHERE id = ?`;
const REMOVE = "DELETE FROM fleets WHERE id = ?";
const SET_LAST_REVISION = "UPDATE fleets SET last_revision = ?, version = version + 1 WHERE id = ?";
const FIND_REVISION = `SELECT ${REVISION_COLUMNS} FROM fleet_revisions WHERE fleet_id = ? AND number = ?`;
const FIND_CONTENT = /* sql */ `
  SELECT ${REVISION_COLUMNS}, key_id, sealed FROM fleet_revisions WHERE fleet_id = ? AND number = ?`;
const LIST_REVISIONS = /* sql */ `
  SELECT ${REVISION_COLUMNS} FROM fleet_revisions WHERE fleet_id = ? AND number < ? ORDER BY number DESC LIMIT ?`;
const INSERT_UPLOAD = "INSERT INTO revision_uploads (fleet_id, number, sha256) VALUES (?, ?, ?)";
// Those in use: the stable one, and what rollouts on record bring or go back to.
const REMOVE_OLD_REVISIONS = /* sql */ `
  DELETE FROM fleet_revisions WHERE fleet_id = ?1 AND number <= ?2
    AND number NOT IN (SELECT coalesce(stable_revision, 0) FROM fleets WHERE id = ?1)
    AND number NOT IN (SELECT revision FROM rollouts WHERE fleet_id = ?1)
    AND number NOT IN (SELECT coalesce(previous_revision, 0) FROM rollouts WHERE fleet_id = ?1)`;
const LIST_OTHER_KEYS = /* sql */ `
  SELECT ${REVISION_COLUMNS}, key_id, sealed FROM fleet_revisions WHERE key_id < ?1 OR key_id > ?1 LIMIT ?2`;
const RESEAL = /* sql */ `
  UPDATE fleet_revisions SET key_id = ?, sealed = ? WHERE fleet_id = ? AND number = ? AND sealed = ?`;
const COUNT_OWNED = "SELECT count(DISTINCT asset_uuid) AS assets FROM app_owners WHERE fleet_id = ?";
const LIST_OWNERS = /* sql */ `
  SELECT o.app, f.name AS fleet FROM app_owners o JOIN fleets f ON f.id = o.fleet_id WHERE o.asset_uuid = ? ORDER BY o.app`;

export class SqlFleetStore implements FleetStore {
  readonly #executor: Executor;
  readonly #members: MemberList;
  readonly #lockAccount: string;
  readonly #lockFleet: string;
  readonly #findOtherOwners: string;

  constructor(executor: Executor) {
    this.#executor = executor;
    this.#members = new MemberList(executor);
    this.#lockAccount = lockAccount(executor);
    this.#lockFleet = `${FIND_BY_ID} ${executor.dialect.lockRows}`;
    this.#findOtherOwners = FIND_OTHER_OWNERS(executor.dialect);
  }

  async createFleet(fleet: Fleet, audit: AuditEntry): Promise<FleetCreation> {
    const lockAccount = this.#lockAccount;
    return this.#executor.transact(function* (): Work<FleetCreation> {
      // Without it, fleets that are created at the same time would not count each other.
      yield* one(lockAccount, [fleet.accountId]);
      const { fleets = 0 } = (yield* one<{ readonly fleets: number }>(COUNT, [fleet.accountId])) ?? {};
      if (fleets >= MAX_FLEETS) return { kind: "too_many" };
      if ((yield* change(INSERT_FLEET, fleetValues(fleet))) === 0) return { kind: "name_taken" };
      yield* recordAudit(audit);
      yield* appendAccountEvents(fleet.accountId, [{ type: "fleet.changed", fleet: fleet.name }]);
      return { kind: "created" };
    });
  }

  async findFleet(accountId: string, name: string): Promise<Fleet | undefined> {
    const row = await this.#executor.one<FleetRow>(FIND, [accountId, name]);
    return row && toFleet(row);
  }

  async findFleetById(id: string): Promise<Fleet | undefined> {
    const row = await this.#executor.one<FleetRow>(FIND_BY_ID, [id]);
    return row && toFleet(row);
  }

  async listFleets(accountId: string, limit: number, after = ""): Promise<readonly Fleet[]> {
    return (await this.#executor.all<FleetRow>(LIST, [accountId, after, limit])).map(toFleet);
  }

  async updateFleet(
    id: string,
    decide: (fleet: Fleet) => FleetFields | undefined,
    audit?: AuditEntry,
  ): Promise<Fleet | "name_taken" | undefined> {
    const lockFleet = this.#lockFleet;
    return this.#executor.transact(function* (): Work<Fleet | "name_taken" | undefined> {
      const row = yield* one<FleetRow>(lockFleet, [id]);
      const before = row && toFleet(row);
      const fields = before && decide(before);
      if (!before || !fields) return before;
      const after: Fleet = { ...before, ...fields, version: before.version + 1 };
      if (after.name !== before.name && (yield* one(FIND_NAME, [after.accountId, after.name]))) return "name_taken";
      if (isDeepStrictEqual(valuesOf(after), valuesOf(before))) return before;
      yield* change(UPDATE, [...valuesOf(after), id]);
      if (audit) yield* recordAudit(audit);
      yield* appendAccountEvents(after.accountId, [{ type: "fleet.changed", fleet: after.name }]);
      return after;
    });
  }

  async removeFleet(id: string, audit: AuditEntry, precondition?: Precondition<Fleet>): Promise<boolean> {
    const lockForRemoval = `${FIND_BY_ID} ${this.#executor.dialect.lockForRemoval}`;
    return this.#executor.transact(function* (): Work<boolean> {
      const row = yield* one<FleetRow>(lockForRemoval, [id]);
      if (!row) return false;
      precondition?.(toFleet(row));
      yield* change(REMOVE, [id]);
      yield* recordAudit(audit);
      yield* appendAccountEvents(row.account_id, [{ type: "fleet.changed", fleet: row.name }]);
      return true;
    });
  }

  async createRevision(
    fleetId: string,
    { hash, apps }: Pick<Revision, "hash" | "apps">,
    toStored: (number: number) => NewRevision,
    audit: AuditEntry,
  ): Promise<RevisionCreation> {
    const lockFleet = this.#lockFleet;
    return this.#executor.transact(function* (): Work<RevisionCreation> {
      const row = yield* one<FleetRow>(lockFleet, [fleetId]);
      if (!row) return { kind: "no_fleet" };
      const fleet = toFleet(row);
      const foreign = apps.find(({ name }) => !fleet.apps.includes(name));
      if (foreign) return { kind: "foreign_app", app: foreign.name };
      const last = yield* one<RevisionRow>(FIND_REVISION, [fleetId, fleet.lastRevision]);
      if (last?.hash === hash) return { kind: "unchanged", revision: toRevision(last) };
      const number = fleet.lastRevision + 1;
      const stored = toStored(number);
      yield* change(INSERT_REVISION, revisionValues(stored));
      for (const sha256 of stored.uploads ?? []) yield* change(INSERT_UPLOAD, [fleetId, number, sha256]);
      yield* change(SET_LAST_REVISION, [number, fleetId]);
      yield* change(REMOVE_OLD_REVISIONS, [fleetId, number - KEPT_REVISIONS]);
      yield* recordAudit(audit);
      yield* appendAccountEvents(fleet.accountId, [{ type: "fleet.changed", fleet: fleet.name }]);
      return { kind: "created", revision: stored.revision };
    });
  }

  async findRevision(fleetId: string, number: number): Promise<StoredRevision | undefined> {
    const row = await this.#executor.one<SealedRevisionRow>(FIND_CONTENT, [fleetId, number]);
    return row && toStoredRevision(row);
  }

  async listRevisions(fleetId: string, limit: number, below = Number.MAX_SAFE_INTEGER): Promise<readonly Revision[]> {
    return (await this.#executor.all<RevisionRow>(LIST_REVISIONS, [fleetId, below, limit])).map(toRevision);
  }

  async listRevisionsNotSealedBy(keyId: string, limit: number): Promise<readonly StoredRevision[]> {
    return (await this.#executor.all<SealedRevisionRow>(LIST_OTHER_KEYS, [keyId, limit])).map(toStoredRevision);
  }

  async resealRevision(fleetId: string, number: number, before: Uint8Array, after: Sealed): Promise<boolean> {
    return (await this.#executor.change(RESEAL, [after.keyId, after.sealed, fleetId, number, before])) > 0;
  }

  async listMatching(
    accountId: string,
    selector: readonly SelectorTerm[],
    limit: number,
    after?: string,
  ): Promise<readonly Member[]> {
    return this.#members.list(accountId, selector, limit, after);
  }

  async listCandidates(
    fleet: Fleet,
    selector: readonly SelectorTerm[],
    time: FactsTime,
    limit: number,
    after?: string,
  ): Promise<readonly Candidate[]> {
    return this.#members.listCandidates(fleet, selector, time, limit, after);
  }

  async countMatching(accountId: string, selector: readonly SelectorTerm[]): Promise<number> {
    return this.#members.count(accountId, selector);
  }

  async listMembers(
    fleet: Fleet,
    selector: readonly SelectorTerm[],
    limit: number,
    after?: string,
    states?: readonly MemberStateName[],
  ): Promise<readonly MemberState[]> {
    return this.#members.listWithState(fleet, selector, limit, after, states);
  }

  async findMemberRevisions(fleetId: string, assetUuids: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const sql = /* sql */ `
      SELECT asset_uuid AS uuid, revision FROM fleet_members
      WHERE fleet_id = ?1 AND revision IS NOT NULL AND asset_uuid IN ${this.#executor.dialect.jsonTexts("?2")}`;
    const values = [fleetId, JSON.stringify(assetUuids)];
    const rows = await this.#executor.all<{ readonly uuid: string; readonly revision: number }>(sql, values);
    return new Map(rows.map(({ uuid, revision }) => [uuid, revision]));
  }

  async recordMemberRevision(fleetId: string, assetUuid: string, revision: number | undefined): Promise<void> {
    if (revision === undefined) await this.#executor.change(CLEAR_MEMBER, [fleetId, assetUuid]);
    else await this.#executor.change(SET_MEMBER, [fleetId, assetUuid, revision]);
  }

  async claimApps(fleetId: string, assetUuid: string, apps: readonly string[]): Promise<readonly AppOwner[]> {
    return this.#executor.transact(() => claimApps(this.#executor.dialect, fleetId, assetUuid, apps));
  }

  async findOtherOwners(fleetId: string, assetUuid: string, apps: readonly string[]): Promise<readonly AppOwner[]> {
    return this.#executor.all<AppOwner>(this.#findOtherOwners, [fleetId, assetUuid, JSON.stringify(apps)]);
  }

  async releaseLeavers(fleet: Fleet, selector: readonly SelectorTerm[], limit: number): Promise<readonly string[]> {
    return this.#members.releaseLeavers(fleet, selector, limit);
  }

  async releaseDroppedApps(fleetId: string, limit: number): Promise<readonly string[]> {
    return this.#members.releaseDroppedApps(fleetId, limit);
  }

  async countOwned(fleetId: string): Promise<number> {
    return (await this.#executor.one<{ readonly assets: number }>(COUNT_OWNED, [fleetId]))?.assets ?? 0;
  }

  async listOwners(assetUuid: string): Promise<readonly AppOwner[]> {
    return this.#executor.all<AppOwner>(LIST_OWNERS, [assetUuid]);
  }
}

/** The columns that `UPDATE` sets. */
function valuesOf({ name, selector, apps, strategy, onDrift, stableRevision, pausedReason }: Fleet): readonly Value[] {
  const texts = [name, selector, JSON.stringify(apps), JSON.stringify(strategy), onDrift];
  return [...texts, stableRevision ?? null, pausedReason ?? null];
}
