import type { DatabaseSync } from "node:sqlite";
import { transaction } from "../../../lib/sqlite.ts";
import type { DeploymentEvent } from "../../../protocol/deployment-event.ts";
import { nextDueMs } from "../../core/deadlines.ts";
import {
  type DeploymentChange,
  type Deployment,
  type DeploymentSummary,
  isFinished,
  type UndeliveredDeployment,
} from "../../core/deployment.ts";
import type { DeploymentCursor } from "../../core/deployment-cursor.ts";
import type { AuditEntry } from "../audit.ts";
import {
  type CreateResult,
  type CreationLimits,
  type DeploymentPage,
  type DeploymentStore,
  type EventBatch,
  type ExpiredDeployments,
  type Idempotency,
  MAX_BATCH_BYTES,
  MAX_PAGE_BYTES,
  MAX_UNDELIVERED,
  type StoredEvent,
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
import { type BeforeCreation, refusal } from "./creation-limits.ts";
import { LatestEvents } from "./latest-events.ts";

/** Selects the deployments that ended first from an index; unfinished ones have no `finished_at_ms`. */
export const REMOVE_FINISHED_SQL = /* sql */ `
  DELETE FROM deployments WHERE id IN
    (SELECT id FROM deployments WHERE finished_at_ms < ? ORDER BY finished_at_ms LIMIT ?)`;

/** Selects `DeploymentRow`s. */
const SELECT_DEPLOYMENTS = /* sql */ `
  SELECT ${DEPLOYMENT_COLUMNS}, a.stored_bytes AS account_bytes FROM deployments d ${DEPLOYMENT_JOINS}
  LEFT JOIN accounts a ON a.id = d.account_id`;

/** Before every deployment of a list, newest first. */
const FIRST_PAGE_CURSOR: DeploymentCursor = { createdAtMs: Number.MAX_SAFE_INTEGER, id: "" };

export class SqliteDeploymentStore implements DeploymentStore {
  readonly #database: DatabaseSync;
  readonly #commits: CommitQueue;
  readonly #states: SqliteAssetStates;
  readonly #latest = new LatestEvents();
  readonly #byId;
  readonly #summary;
  readonly #lastSeqs;
  readonly #unfinishedSummaries;
  readonly #byIdempotencyKey;
  readonly #beforeCreation;
  readonly #insert;
  readonly #insertEvent;
  readonly #insertAudit;
  readonly #page;
  readonly #unfinished;
  readonly #unfinishedOfAsset;
  readonly #endedUncertain;
  readonly #update;
  readonly #session;
  readonly #undelivered;
  readonly #undeliveredAssets;
  readonly #due;
  readonly #nextDue;
  readonly #events;
  readonly #removeFinished;

  constructor(database: DatabaseSync, commits: CommitQueue, states: SqliteAssetStates) {
    this.#database = database;
    this.#commits = commits;
    this.#states = states;
    this.#byId = database.prepare(`${SELECT_DEPLOYMENTS} WHERE d.id = ?`);
    const summary = `SELECT ${SUMMARY_COLUMNS} FROM deployments d`;
    this.#lastSeqs = database.prepare(
      "SELECT id, last_seq AS lastSeq FROM deployments WHERE id IN (SELECT value FROM json_each(?))",
    );
    this.#summary = database.prepare(`${summary} WHERE d.id = ?`);
    this.#unfinishedSummaries = database.prepare(
      `${summary} WHERE d.asset_uuid = ? AND d.status = 'Running' ORDER BY d.created_at_ms, d.rowid`,
    );
    this.#byIdempotencyKey = database.prepare(
      "SELECT id, request_hash FROM deployments WHERE account_id = ? AND idempotency_key = ?",
    );
    this.#beforeCreation = database.prepare(
      `SELECT (SELECT stored_bytes FROM accounts WHERE id = ?1) AS bytes,
         (SELECT count(*) FROM deployments WHERE asset_uuid = ?2 AND status = 'Running') AS running,
         (SELECT instance_id FROM device_sessions WHERE asset_uuid = ?2) AS holder`,
    );
    this.#insert = database.prepare(
      `INSERT INTO deployments (id, account_id, asset_uuid, app, action, spec, options, has_registry_auth, status,
         created_at_ms, deadline_at_ms, wait_until_ms, delivery, finish_due_ms, reply_due_ms, due_at_ms, last_seq, event_bytes,
         idempotency_key, request_hash)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#insertEvent = database.prepare("INSERT INTO deployment_events (deployment_id, seq, event) VALUES (?, ?, ?)");
    this.#insertAudit = database.prepare(INSERT_AUDIT);
    this.#page = database.prepare(
      `${SELECT_DEPLOYMENTS} WHERE d.asset_uuid = ? AND (d.created_at_ms, d.id) < (?, ?)
       ORDER BY d.created_at_ms DESC, d.id DESC LIMIT ?`,
    );
    this.#unfinished = database.prepare(
      `${SELECT_DEPLOYMENTS} WHERE d.status = 'Running' ORDER BY d.created_at_ms, d.rowid`,
    );
    this.#unfinishedOfAsset = database.prepare(
      `${SELECT_DEPLOYMENTS} WHERE d.asset_uuid = ? AND d.status = 'Running' ORDER BY d.created_at_ms, d.rowid`,
    );
    this.#endedUncertain = database.prepare(
      `${SELECT_DEPLOYMENTS} WHERE d.asset_uuid = ? AND d.doubt IN ('asked', 'overdue') AND d.status <> 'Running'
       ORDER BY d.created_at_ms, d.id LIMIT ?`,
    );
    this.#update = database.prepare(
      `UPDATE deployments SET spec = coalesce(?, spec), status = ?, code = ?, acknowledged_at_ms = ?, cancel_requested_at_ms = ?,
         is_waiting = ?, ack_since_ms = ?, finished_at_ms = ?, delivery = ?, finish_due_ms = ?, reply_due_ms = ?, due_at_ms = ?, last_device_seq = ?, last_seq = ?, deadline_at_ms = ?, connection = ?,
         doubt = ?, doubt_until_ms = ?, event_bytes = ?, omitted_events = ?, version = ? WHERE id = ? AND version = ?`,
    );
    this.#session = database.prepare("SELECT 1 FROM device_sessions WHERE asset_uuid = ? AND epoch = ?");
    this.#undelivered = database.prepare(
      `SELECT ${UNDELIVERED_COLUMNS} FROM deployments d WHERE d.asset_uuid = ? AND d.delivery IS NOT NULL
         AND NOT ${KEPT_BACK} ORDER BY d.rowid LIMIT ?`,
    );
    this.#undeliveredAssets = database.prepare(
      `SELECT DISTINCT d.asset_uuid FROM deployments d JOIN device_sessions s ON s.asset_uuid = d.asset_uuid
       WHERE d.delivery IS NOT NULL AND s.instance_id = ? LIMIT ?`,
    );
    this.#due = database.prepare(
      "SELECT id FROM deployments WHERE due_at_ms <= ? AND due_at_ms IS NOT NULL ORDER BY due_at_ms LIMIT ?",
    );
    this.#nextDue = database.prepare("SELECT min(due_at_ms) AS due FROM deployments WHERE due_at_ms IS NOT NULL");
    this.#events = database.prepare(
      `SELECT d.status, e.seq, e.event AS json FROM deployments d
       LEFT JOIN deployment_events e ON e.deployment_id = d.id AND e.seq > ?
       WHERE d.id = ? ORDER BY e.seq LIMIT ?`,
    );
    this.#removeFinished = database.prepare(REMOVE_FINISHED_SQL);
  }

  async createDeployment(
    deployment: Deployment,
    first: DeploymentEvent,
    idempotency?: Idempotency,
    limits?: CreationLimits,
    receive?: (deployment: Deployment) => DeploymentChange | undefined,
    audit?: AuditEntry,
  ): Promise<CreateResult> {
    return this.#commits.run(() => {
      const earlier = idempotency && this.#repetition(deployment.accountId, idempotency);
      if (earlier) return earlier;
      const { accountId, assetUuid } = deployment;
      const before = this.#beforeCreation.get(accountId, assetUuid) as unknown as BeforeCreation;
      const refused = limits && refusal(deployment, before, limits);
      if (refused) return refused;
      const json = JSON.stringify(first);
      const eventBytes = Buffer.byteLength(json);
      this.#insert.run(
        deployment.id,
        accountId,
        assetUuid,
        deployment.app,
        deployment.action,
        JSON.stringify(deployment.spec),
        JSON.stringify(deployment.options),
        deployment.hasRegistryAuth ? 1 : 0,
        deployment.status,
        deployment.createdAtMs,
        deployment.deadlineAtMs,
        deployment.waitUntilMs ?? null,
        deployment.delivery ?? null,
        deployment.finishDueMs ?? null,
        deployment.replyDueMs ?? null,
        nextDueMs(deployment) ?? null,
        first.seq,
        eventBytes,
        idempotency?.key ?? null,
        idempotency?.requestHash ?? null,
      );
      this.#insertEvent.run(deployment.id, first.seq, json);
      if (audit) this.#insertAudit.run(...auditValues(audit));
      const stored = {
        ...deployment,
        holder: before.holder ?? undefined,
        lastSeq: first.seq,
        lastEvent: first,
        eventBytes,
      };
      const change = receive?.(stored);
      const created = change ? this.#apply(stored, change) : stored;
      this.#states.deploymentChanged(undefined, created);
      return { kind: "created", deployment: created };
    });
  }

  async findDeployment(id: string): Promise<Deployment | undefined> {
    const row = this.#byId.get(id) as DeploymentRow | undefined;
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

  async listUndeliveredAssets(instanceId: string): Promise<readonly string[]> {
    return this.#undeliveredAssets.all(instanceId, MAX_UNDELIVERED).map((row) => String(row["asset_uuid"]));
  }

  async listDeployments(assetUuid: string, limit: number, after = FIRST_PAGE_CURSOR): Promise<DeploymentPage> {
    const { createdAtMs, id } = after;
    const deployments: Deployment[] = [];
    let bytes = 0;
    for (const found of this.#page.iterate(assetUuid, createdAtMs, id, limit + 1)) {
      const row = found as unknown as DeploymentRow;
      const last = deployments.at(-1);
      const isFull = deployments.length === limit || bytes >= MAX_PAGE_BYTES;
      if (last && isFull) return { deployments, next: { createdAtMs: last.createdAtMs, id: last.id } };
      deployments.push(toDeployment(row));
      bytes += row.spec.length;
    }
    return { deployments, next: undefined };
  }

  async listUnfinished(assetUuid?: string): Promise<readonly Deployment[]> {
    const rows = assetUuid === undefined ? this.#unfinished.all() : this.#unfinishedOfAsset.all(assetUuid);
    return (rows as unknown as DeploymentRow[]).map(toDeployment);
  }

  async listEndedUncertain(assetUuid: string, limit: number): Promise<readonly Deployment[]> {
    return (this.#endedUncertain.all(assetUuid, limit) as unknown as DeploymentRow[]).map(toDeployment);
  }

  async updateDeployment(
    id: string,
    decide: (deployment: Deployment) => DeploymentChange | undefined,
    fence?: SessionFence,
    audit?: AuditEntry,
  ): Promise<Deployment | undefined> {
    let event: DeploymentEvent | undefined;
    const after = await this.#commits.run(() => {
      const row = this.#byId.get(id) as DeploymentRow | undefined;
      // The row has the epoch of its device: usually that is the device of the session.
      if (fence && (row?.asset_uuid !== fence.assetUuid || row.epoch !== fence.epoch)) this.#requireSession(fence);
      return this.#decideAndApply(row, (deployment) => {
        const change = decide(deployment);
        event = change?.event;
        if (audit && change) this.#insertAudit.run(...auditValues(audit));
        return change;
      });
    });
    if (after && event) this.#latest.add(after, event);
    return after;
  }

  async updateDeployments(
    ids: readonly string[],
    decide: (deployment: Deployment) => DeploymentChange | undefined,
  ): Promise<readonly Deployment[]> {
    return transaction(this.#database, () => this.#decideAndApplyAll(ids, decide));
  }

  async expireDue(
    serviceNowMs: number,
    limit: number,
    decide: (deployment: Deployment) => DeploymentChange | undefined,
  ): Promise<ExpiredDeployments> {
    return transaction(this.#database, () => {
      const due = this.#due.all(serviceNowMs, limit) as { id: string }[];
      const expired = this.#decideAndApplyAll(
        due.map(({ id }) => id),
        decide,
      );
      const { due: nextDueMs } = this.#nextDue.get() as { due: number | null };
      return { expired, nextDueMs: nextDueMs ?? undefined };
    });
  }

  async readEvents(id: string, after: number, limit: number): Promise<EventBatch> {
    const latest = this.#latest.findAfter(id, after);
    if (latest) return latest;
    const events: StoredEvent[] = [];
    let bytes = 0;
    let isOver = true;
    for (const found of this.#events.iterate(after, id, limit)) {
      const { status, seq, json } = found as unknown as EventRow;
      isOver = isFinished({ status });
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

  #decideAndApply(
    row: DeploymentRow | undefined,
    decide: (deployment: Deployment) => DeploymentChange | undefined,
  ): Deployment | undefined {
    const deployment = row && toDeployment(row);
    const change = deployment && decide(deployment);
    if (!deployment || !change) return deployment;
    const changed = this.#apply(deployment, change);
    this.#states.deploymentChanged(deployment, changed);
    return changed;
  }

  #decideAndApplyAll(
    ids: readonly string[],
    decide: (deployment: Deployment) => DeploymentChange | undefined,
  ): Deployment[] {
    const found = ids.map((id) => this.#decideAndApply(this.#byId.get(id) as DeploymentRow | undefined, decide));
    return found.filter((deployment) => deployment !== undefined);
  }

  #apply(before: Deployment, change: DeploymentChange): Deployment {
    const after = { ...before, ...change.fields, version: before.version + 1 };
    const event = change.event ?? before.lastEvent;
    const lastSeq = change.event?.seq ?? before.lastSeq;
    const json = change.event && JSON.stringify(change.event);
    if (json) this.#insertEvent.run(before.id, lastSeq, json);
    const eventBytes = before.eventBytes + Buffer.byteLength(json ?? "");
    const { changes } = this.#update.run(
      change.fields && "spec" in change.fields ? JSON.stringify(after.spec) : null,
      after.status,
      after.code ?? null,
      after.acknowledgedAtMs ?? null,
      after.cancelRequestedAtMs ?? null,
      after.isWaiting ? 1 : 0,
      after.ackSinceMs ?? null,
      after.finishedAtMs ?? null,
      after.delivery ?? null,
      after.finishDueMs ?? null,
      after.replyDueMs ?? null,
      nextDueMs(after) ?? null,
      after.lastDeviceSeq,
      lastSeq,
      after.deadlineAtMs,
      after.connection,
      after.uncertainty ?? null,
      after.uncertainUntilMs ?? null,
      eventBytes,
      after.omittedEvents,
      after.version,
      before.id,
      before.version,
    );
    if (changes !== 1) throw new Error(`deployment ${before.id} is no longer at version ${before.version}`);
    return { ...after, lastSeq, lastEvent: event, eventBytes };
  }

  #repetition(accountId: string, { key, requestHash }: Idempotency): CreateResult | undefined {
    const row = this.#byIdempotencyKey.get(accountId, key) as { id: string; request_hash: Uint8Array } | undefined;
    if (!row) return undefined;
    return Buffer.compare(row.request_hash, requestHash) === 0
      ? { kind: "repeated", id: row.id }
      : { kind: "conflict" };
  }
}
