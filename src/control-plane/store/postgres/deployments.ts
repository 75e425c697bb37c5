import type { DeploymentEvent } from "../../../protocol/deployment-event.ts";
import type { Deployment, DeploymentSummary, UndeliveredDeployment } from "../../core/deployment.ts";
import type { DeploymentCursor } from "../../core/deployment-cursor.ts";
import { type DeploymentRow, toDeployment, toSummary } from "../deployment-row.ts";
import type { AuditEntry } from "../audit.ts";
import {
  type CreateResult,
  type CreationLimits,
  type DeploymentPage,
  type DeploymentStore,
  type EventBatch,
  type ExpiredDeployments,
  type Idempotency,
  MAX_UNDELIVERED,
} from "../deployments.ts";
import type { AppendSignal } from "../account-events.ts";
import { type SessionFence, StaleSessionError } from "../sessions.ts";
import { createDeployment } from "./create-deployment.ts";
import { unchanged, withChange } from "./deployment-change.ts";
import * as sql from "./deployment-statements.ts";
import {
  type DeviceOfSession,
  type EventRange,
  findAll,
  listAllUndelivered,
  readAllEvents,
  type Undelivered,
} from "./deployment-reads.ts";
import { type Decide, DeploymentWriter, writeChanges } from "./deployment-writer.ts";
import { JointReads } from "./joint-reads.ts";
import { type PostgresPool, type Queryable, repeatOnConflict } from "./pool.ts";

/** Before every deployment of a list, newest first. */
const FIRST_PAGE_CURSOR: DeploymentCursor = { createdAtMs: Number.MAX_SAFE_INTEGER, id: "" };

/** How many batches of changes, or of reads of one kind, may be on their way. More would be smaller, and cost more. */
const MAX_BATCHES = 2;

export class PostgresDeploymentStore implements DeploymentStore {
  readonly #pool: PostgresPool;
  readonly #appended: AppendSignal;
  readonly #writer: DeploymentWriter;
  readonly #deployments: JointReads<string, Deployment | undefined>;
  readonly #events: JointReads<EventRange, EventBatch>;
  readonly #undelivered: JointReads<DeviceOfSession, Undelivered>;

  constructor(pool: PostgresPool, appended: AppendSignal) {
    this.#pool = pool;
    this.#appended = appended;
    this.#writer = new DeploymentWriter(pool, appended, MAX_BATCHES);
    this.#deployments = new JointReads((ids) => findAll(pool, ids), MAX_BATCHES);
    this.#events = new JointReads((ranges) => readAllEvents(pool, ranges), MAX_BATCHES);
    this.#undelivered = new JointReads((devices) => listAllUndelivered(pool, devices), MAX_BATCHES);
  }

  async createDeployment(
    deployment: Deployment,
    first: DeploymentEvent,
    idempotency?: Idempotency,
    limits?: CreationLimits,
    receive?: Decide,
    audit?: AuditEntry,
  ): Promise<CreateResult> {
    const result = await createDeployment(this.#pool, { deployment, first, idempotency, limits, receive, audit });
    if (result.kind === "created") this.#appended.emit([deployment.accountId]);
    return result;
  }

  findDeployment(id: string): Promise<Deployment | undefined> {
    return this.#deployments.read(id);
  }

  async findLastSeqs(ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const { rows } = await this.#pool.query<{ id: string; lastSeq: number }>(sql.FIND_LAST_SEQS, [ids]);
    return new Map(rows.map(({ id, lastSeq }) => [id, lastSeq]));
  }

  async findSummary(id: string): Promise<DeploymentSummary | undefined> {
    const { rows } = await this.#pool.query(sql.FIND_SUMMARY, [id]);
    return rows.map(toSummary)[0];
  }

  async listDeployments(assetUuid: string, limit: number, after = FIRST_PAGE_CURSOR): Promise<DeploymentPage> {
    const values = [assetUuid, after.createdAtMs, after.id, limit + 1];
    const { rows } = await this.#pool.query<DeploymentRow & { found: number }>(sql.LIST_PAGE, values);
    const deployments = rows.slice(0, limit).map(toDeployment);
    const last = deployments.at(-1);
    const hasMore = last !== undefined && (rows[0]?.found ?? 0) > deployments.length;
    return { deployments, next: hasMore ? { createdAtMs: last.createdAtMs, id: last.id } : undefined };
  }

  async listUnfinished(assetUuid?: string): Promise<readonly Deployment[]> {
    return assetUuid === undefined
      ? this.#list(sql.LIST_UNFINISHED, [])
      : this.#list(sql.LIST_UNFINISHED_OF_ASSET, [assetUuid]);
  }

  async listUnfinishedSummaries(assetUuid: string): Promise<readonly DeploymentSummary[]> {
    return (await this.#pool.query(sql.LIST_UNFINISHED_SUMMARIES, [assetUuid])).rows.map(toSummary);
  }

  async listEndedUncertain(assetUuid: string, limit: number): Promise<readonly Deployment[]> {
    return this.#list(sql.LIST_ENDED_UNCERTAIN, [assetUuid, limit]);
  }

  async listUndelivered(assetUuid: string, fence?: SessionFence): Promise<readonly UndeliveredDeployment[]> {
    const { isValid, deployments } = await this.#undelivered.read({ asset: assetUuid, epoch: fence?.epoch });
    if (fence && !isValid) throw new StaleSessionError(fence);
    return deployments;
  }

  async listUndeliveredAssets(instanceId: string): Promise<readonly string[]> {
    const { rows } = await this.#pool.query<{ asset_uuid: string }>(sql.LIST_UNDELIVERED_ASSETS, [
      instanceId,
      MAX_UNDELIVERED,
    ]);
    return rows.map((row) => row.asset_uuid);
  }

  updateDeployment(
    id: string,
    decide: Decide,
    fence?: SessionFence,
    audit?: AuditEntry,
  ): Promise<Deployment | undefined> {
    return this.#writer.update(id, decide, fence, audit);
  }

  async updateDeployments(ids: readonly string[], decide: Decide): Promise<readonly Deployment[]> {
    return this.#telling(async (client) => {
      await client.query(sql.LOCK_ALL, [ids]);
      const written = await decideAndWrite(client, ids, decide);
      return { result: written.deployments, accounts: written.accounts };
    });
  }

  async expireDue(serviceNowMs: number, limit: number, decide: Decide): Promise<ExpiredDeployments> {
    // Every instance asks every second, and hardly ever finds anything: that costs one statement.
    const nextDueMs = await nextDue(this.#pool);
    if (nextDueMs === undefined || nextDueMs > serviceNowMs) return { expired: [], nextDueMs };
    return this.#telling(async (client) => {
      const due = await client.query<{ id: string }>(sql.LOCK_DUE, [Math.floor(serviceNowMs), limit]);
      const ids = due.rows.map(({ id }) => id);
      const written = ids.length === 0 ? NOTHING_WRITTEN : await decideAndWrite(client, ids, decide);
      const result = { expired: written.deployments, nextDueMs: await nextDue(client) };
      return { result, accounts: written.accounts };
    });
  }

  readEvents(id: string, after: number, limit: number): Promise<EventBatch> {
    return this.#events.read({ id, after, limit });
  }

  async removeFinished(beforeMs: number, limit: number): Promise<number> {
    const removed = await repeatOnConflict(() => this.#pool.query(sql.REMOVE_FINISHED, [beforeMs, limit]));
    return removed.rowCount;
  }

  /** Runs work in a transaction, and tells the accounts that it returns once it is committed. */
  async #telling<T>(work: (client: Queryable) => Promise<{ result: T; accounts: readonly string[] }>): Promise<T> {
    const { result, accounts } = await this.#pool.transaction(work);
    this.#appended.emit(accounts);
    return result;
  }

  async #list(text: string, values: readonly unknown[]): Promise<readonly Deployment[]> {
    return (await this.#pool.query<DeploymentRow>(text, values)).rows.map(toDeployment);
  }
}

async function nextDue(client: Queryable): Promise<number | undefined> {
  const { rows } = await client.query<{ due: number | null }>(sql.NEXT_DUE, []);
  return rows[0]?.due ?? undefined;
}

interface Written {
  readonly deployments: readonly Deployment[];
  /** The accounts with new events. */
  readonly accounts: readonly string[];
}

const NOTHING_WRITTEN: Written = { deployments: [], accounts: [] };

/** Changes deployments that this transaction has locked. Leaves out those that do not exist. */
async function decideAndWrite(client: Queryable, ids: readonly string[], decide: Decide): Promise<Written> {
  const deployments = (await findAll(client, ids)).filter((deployment) => deployment !== undefined);
  const changes = deployments.map((deployment) => {
    const change = decide(deployment);
    const changed = change ? withChange(unchanged(deployment), change) : unchanged(deployment);
    return { changed, fence: undefined, audit: [] };
  });
  const toStore = changes.filter(({ changed }) => changed.after !== changed.before);
  const { stored, accounts } = await writeChanges(client, toStore);
  if (stored.size !== toStore.length) throw new Error("a deployment was changed although it was locked");
  return { deployments: changes.map(({ changed }) => changed.after), accounts };
}
