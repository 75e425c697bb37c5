import { uploadHashes } from "../../core/named-uploads.ts";
import type { DatabaseSync } from "node:sqlite";
import { prepare } from "../../../lib/sqlite.ts";
import { isFinal } from "../../../protocol/deployments/deployment-event.ts";
import {
  type Deployment,
  type DeploymentSummary,
  type StoredEvent,
  type UndeliveredDeployment,
} from "../../core/deployment.ts";
import { FIRST_DEPLOYMENT_PAGE } from "../../core/cursor.ts";
import type { ErrorCode } from "../../../protocol/errors/errors.ts";
import { type CreationFacts, findRefusal } from "../admit-deployment.ts";
import type { AuditEntry } from "../audit.ts";
import { CHANGED_COLUMNS, changedSpec, changedValues, CREATED_COLUMNS, createdValues } from "../deployment-columns.ts";
import {
  type CreateResult,
  type DeploymentCreation,
  type DeploymentPage,
  type DeploymentStore,
  type DeploymentUpdate,
  type EventBatch,
  type Idempotency,
  MAX_BATCH_BYTES,
  MAX_PAGE_BYTES,
  MAX_UNDELIVERED,
  toPage,
} from "../deployments.ts";
import {
  DEPLOYMENT_COLUMNS,
  DEPLOYMENT_JOINS,
  type DeploymentRow,
  type EventRow,
  SUMMARY_COLUMNS,
  toDeployment,
  toSummary,
  toUndelivered,
  UNDELIVERED_COLUMNS,
} from "../deployment-row.ts";
import { type SessionFence, StaleSessionError } from "../sessions.ts";
import type { SqliteAssetStates } from "./asset-states.ts";
import { auditValues, INSERT_AUDIT } from "../sql/audit.ts";
import { KEPT_BACK } from "../sql/device-acceptance.ts";
import type { CommitQueue } from "./commit-queue.ts";
import { LatestEvents } from "./latest-events.ts";

/** Selects the deployments that ended first from an index; unfinished ones have no `finished_at_ms`. */
export const REMOVE_FINISHED_SQL = /* sql */ `
  DELETE FROM deployments WHERE id IN
    (SELECT id FROM deployments WHERE finished_at_ms < ? ORDER BY finished_at_ms LIMIT ?)`;

/** Selects `DeploymentRow`s. */
const SELECT_DEPLOYMENTS = /* sql */ `
  SELECT ${DEPLOYMENT_COLUMNS}, a.stored_bytes AS account_bytes FROM deployments d ${DEPLOYMENT_JOINS}
  LEFT JOIN accounts a ON a.id = d.account_id`;

/** Another deployment takes over the key of one that has failed. */
const RELEASE_KEY_SQL = "UPDATE deployments SET idempotency_key = NULL, request_hash = NULL WHERE id = ?";

interface RepeatedRow {
  readonly id: string;
  readonly request_hash: Uint8Array;
  readonly code: ErrorCode | null;
}

interface CreationRow {
  readonly usedBytes: number | null;
  readonly running: number;
  readonly holder: string | null;
}

export class SqliteDeploymentStore implements DeploymentStore {
  readonly #commits: CommitQueue;
  readonly #states: SqliteAssetStates;
  readonly #latest = new LatestEvents();
  readonly #byId;
  readonly #summary;
  readonly #lastSeqs;
  readonly #unfinishedSummaries;
  readonly #byIdempotencyKey;
  readonly #releaseKey;
  readonly #beforeCreation;
  readonly #insert;
  readonly #insertEvent;
  readonly #insertAudit;
  readonly #insertUpload;
  readonly #page;
  readonly #unfinished;
  readonly #unfinishedOfAsset;
  readonly #endedUncertain;
  readonly #update;
  readonly #holder;
  readonly #session;
  readonly #undelivered;
  readonly #undeliveredAssets;
  readonly #due;
  readonly #nextDue;
  readonly #events;
  readonly #removeFinished;

  constructor(database: DatabaseSync, commits: CommitQueue, states: SqliteAssetStates) {
    this.#commits = commits;
    this.#states = states;
    this.#byId = prepare(database, `${SELECT_DEPLOYMENTS} WHERE d.id = ?`);
    const summary = `SELECT ${SUMMARY_COLUMNS} FROM deployments d`;
    this.#lastSeqs = prepare(
      database,
      "SELECT id, last_seq AS lastSeq FROM deployments WHERE id IN (SELECT value FROM json_each(?))",
    );
    this.#summary = prepare(database, `${summary} WHERE d.id = ?`);
    this.#unfinishedSummaries = prepare(
      database,
      `${summary} WHERE d.asset_uuid = ? AND d.status = 'Running' ORDER BY d.created_at_ms, d.rowid`,
    );
    this.#byIdempotencyKey = prepare(
      database,
      "SELECT id, request_hash, code FROM deployments WHERE account_id = ? AND idempotency_key = ?",
    );
    this.#releaseKey = prepare(database, RELEASE_KEY_SQL);
    this.#beforeCreation = prepare(
      database,
      `SELECT (SELECT stored_bytes FROM accounts WHERE id = ?1) AS usedBytes,
         (SELECT count(*) FROM deployments WHERE asset_uuid = ?2 AND status = 'Running') AS running,
         (SELECT instance_id FROM device_sessions WHERE asset_uuid = ?2) AS holder`,
    );
    this.#insert = prepare(
      database,
      `INSERT INTO deployments (${CREATED_COLUMNS.join(", ")}) VALUES (${CREATED_COLUMNS.map(() => "?").join(", ")})`,
    );
    this.#insertEvent = prepare(database, "INSERT INTO deployment_events (deployment_id, seq, event) VALUES (?, ?, ?)");
    this.#insertAudit = prepare(database, INSERT_AUDIT);
    this.#insertUpload = prepare(
      database,
      "INSERT INTO deployment_uploads (deployment_id, account_id, sha256) VALUES (?, ?, ?)",
    );
    this.#page = prepare(
      database,
      `${SELECT_DEPLOYMENTS} WHERE d.asset_uuid = ? AND (d.created_at_ms, d.id) < (?, ?)
       ORDER BY d.created_at_ms DESC, d.id DESC LIMIT ?`,
    );
    this.#unfinished = prepare(
      database,
      `${SELECT_DEPLOYMENTS} WHERE d.status = 'Running' ORDER BY d.created_at_ms, d.rowid`,
    );
    this.#unfinishedOfAsset = prepare(
      database,
      `${SELECT_DEPLOYMENTS} WHERE d.asset_uuid = ? AND d.status = 'Running' ORDER BY d.created_at_ms, d.rowid`,
    );
    this.#endedUncertain = prepare(
      database,
      `${SELECT_DEPLOYMENTS} WHERE d.asset_uuid = ? AND d.uncertainty IN ('asked', 'overdue') AND d.status <> 'Running'
       ORDER BY d.created_at_ms, d.id LIMIT ?`,
    );
    this.#update = prepare(
      database,
      `UPDATE deployments SET spec = coalesce(?, spec), ${CHANGED_COLUMNS.map(({ name }) => `${name} = ?`).join(", ")}
       WHERE id = ? AND version = ?`,
    );
    this.#holder = prepare(database, "SELECT instance_id FROM device_sessions WHERE asset_uuid = ?");
    this.#session = prepare(database, "SELECT 1 FROM device_sessions WHERE asset_uuid = ? AND epoch = ?");
    this.#undelivered = prepare(
      database,
      `SELECT ${UNDELIVERED_COLUMNS} FROM deployments d WHERE d.asset_uuid = ? AND d.delivery IS NOT NULL
         AND NOT ${KEPT_BACK} ORDER BY d.rowid LIMIT ?`,
    );
    this.#undeliveredAssets = prepare(
      database,
      `SELECT DISTINCT d.asset_uuid FROM deployments d JOIN device_sessions s ON s.asset_uuid = d.asset_uuid
       WHERE d.delivery IS NOT NULL AND NOT ${KEPT_BACK} AND s.instance_id = ? AND d.asset_uuid > ?
       ORDER BY d.asset_uuid LIMIT ?`,
    );
    this.#due = prepare(
      database,
      `${SELECT_DEPLOYMENTS} WHERE d.due_at_ms <= ? AND d.due_at_ms IS NOT NULL ORDER BY d.due_at_ms LIMIT ?`,
    );
    this.#nextDue = prepare(database, "SELECT min(due_at_ms) AS due FROM deployments WHERE due_at_ms IS NOT NULL");
    this.#events = prepare(
      database,
      `SELECT d.status, e.seq, e.event AS json FROM deployments d
       LEFT JOIN deployment_events e ON e.deployment_id = d.id AND e.seq > ?
       WHERE d.id = ? ORDER BY e.seq LIMIT ?`,
    );
    this.#removeFinished = prepare(database, REMOVE_FINISHED_SQL);
  }

  async createDeployment(creation: DeploymentCreation): Promise<CreateResult> {
    const { after, events, idempotency, audit } = creation;
    const { id, accountId, assetUuid } = after;
    return this.#commits.run(() => {
      const { usedBytes, running, holder } = this.#beforeCreation.get(accountId, assetUuid) as unknown as CreationRow;
      const repeated = idempotency && this.#findRepeated(accountId, idempotency);
      const facts = { usedBytes: usedBytes ?? 0, running, holder: holder ?? undefined, repeated };
      const refused = findRefusal(creation, facts);
      if (refused) return refused;
      if (repeated) this.#releaseKey.run(repeated.id);
      this.#insert.run(...createdValues(creation));
      this.#insertParts(id, events, audit);
      for (const sha256 of uploadHashes(after.command)) this.#insertUpload.run(id, accountId, sha256);
      this.#states.deploymentChanged(undefined, after);
      return { kind: "created" };
    });
  }

  async findHolder(assetUuid: string): Promise<string | undefined> {
    const row = this.#holder.get(assetUuid) as { instance_id: string | null } | undefined;
    return row?.instance_id ?? undefined;
  }

  async findDeployment(id: string, fence?: SessionFence): Promise<Deployment | undefined> {
    const row = this.#byId.get(id) as DeploymentRow | undefined;
    // The row has the epoch of its device: usually that is the device of the session.
    if (fence && (row?.asset_uuid !== fence.assetUuid || row.epoch !== fence.epoch)) this.#requireSession(fence);
    return row && toDeployment(row);
  }

  async findLastSeqs(ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return new Map(this.#lastSeqs.all(JSON.stringify(ids)).map((row) => [String(row["id"]), Number(row["lastSeq"])]));
  }

  async findSummary(id: string): Promise<DeploymentSummary | undefined> {
    return this.#summary.all(id).map(toSummary)[0];
  }

  async listUnfinishedSummaries(assetUuid: string): Promise<readonly DeploymentSummary[]> {
    return this.#unfinishedSummaries.all(assetUuid).map(toSummary);
  }

  async listUndelivered(assetUuid: string, fence?: SessionFence): Promise<readonly UndeliveredDeployment[]> {
    if (fence) this.#requireSession(fence);
    return this.#undelivered.all(assetUuid, MAX_UNDELIVERED).map(toUndelivered);
  }

  async listUndeliveredAssets(instanceId: string, after = ""): Promise<readonly string[]> {
    return this.#undeliveredAssets.all(instanceId, after, MAX_UNDELIVERED).map((row) => String(row["asset_uuid"]));
  }

  async listDeployments(assetUuid: string, limit: number, after = FIRST_DEPLOYMENT_PAGE): Promise<DeploymentPage> {
    const { createdAtMs, id } = after;
    const deployments: Deployment[] = [];
    let bytes = 0;
    for (const found of this.#page.iterate(assetUuid, createdAtMs, id, limit + 1)) {
      const row = found as unknown as DeploymentRow;
      const last = deployments.at(-1);
      const isFull = deployments.length === limit || bytes >= MAX_PAGE_BYTES;
      if (last && isFull) return toPage(deployments, true);
      deployments.push(toDeployment(row));
      bytes += row.spec.length;
    }
    return toPage(deployments, false);
  }

  async listUnfinished(assetUuid?: string): Promise<readonly Deployment[]> {
    const rows = assetUuid === undefined ? this.#unfinished.all() : this.#unfinishedOfAsset.all(assetUuid);
    return (rows as unknown as DeploymentRow[]).map(toDeployment);
  }

  async listEndedUncertain(assetUuid: string, limit: number): Promise<readonly Deployment[]> {
    return (this.#endedUncertain.all(assetUuid, limit) as unknown as DeploymentRow[]).map(toDeployment);
  }

  async updateDeployment(update: DeploymentUpdate): Promise<boolean> {
    const isStored = await this.#commits.run(() => this.#updateOne(update));
    const latest = update.events.at(-1);
    if (isStored && latest) this.#latest.add(update.after, latest);
    return isStored;
  }

  updateDeployments(updates: readonly DeploymentUpdate[]): Promise<ReadonlySet<string>> {
    return this.#commits.run(
      () => new Set(updates.filter((update) => this.#updateOne(update)).map(({ after }) => after.id)),
    );
  }

  async findNextDue(): Promise<number | undefined> {
    const { due } = this.#nextDue.get() as { due: number | null };
    return due ?? undefined;
  }

  async listDue(serviceNowMs: number, limit: number): Promise<readonly Deployment[]> {
    return (this.#due.all(serviceNowMs, limit) as unknown as DeploymentRow[]).map(toDeployment);
  }

  async readEvents(id: string, after: number, limit: number): Promise<EventBatch> {
    const latest = this.#latest.findAfter(id, after);
    if (latest) return latest;
    const events: StoredEvent[] = [];
    let bytes = 0;
    let isOver = true;
    for (const found of this.#events.iterate(after, id, limit)) {
      const { status, seq, json } = found as unknown as EventRow;
      isOver = isFinal({ status });
      if (seq === null) break;
      bytes += Buffer.byteLength(json);
      if (events.length > 0 && bytes > MAX_BATCH_BYTES) return { events, hasMore: true, isOver };
      events.push({ seq, json });
    }
    return { events, hasMore: events.length === limit, isOver };
  }

  async removeFinished(beforeMs: number, limit: number): Promise<number> {
    return Number(this.#removeFinished.run(beforeMs, limit).changes);
  }

  #requireSession(fence: SessionFence): void {
    if (!this.#session.get(fence.assetUuid, fence.epoch)) throw new StaleSessionError(fence);
  }

  /** Returns whether it was stored. */
  #updateOne(update: DeploymentUpdate): boolean {
    const { before, after, events, fence, audit } = update;
    if (fence && !this.#session.get(fence.assetUuid, fence.epoch)) return false;
    const { changes } = this.#update.run(changedSpec(update), ...changedValues(after), before.id, before.version);
    if (changes !== 1) return false;
    this.#insertParts(after.id, events, audit);
    this.#states.deploymentChanged(before, after);
    return true;
  }

  #insertParts(id: string, events: readonly StoredEvent[], audit: AuditEntry | undefined): void {
    for (const { seq, json } of events) this.#insertEvent.run(id, seq, json);
    if (audit) this.#insertAudit.run(...auditValues(audit));
  }

  #findRepeated(accountId: string, { key }: Idempotency): CreationFacts["repeated"] {
    const row = this.#byIdempotencyKey.get(accountId, key) as RepeatedRow | undefined;
    return row && { id: row.id, requestHash: row.request_hash, code: row.code };
  }
}
