import type { Deployment, DeploymentSummary, UndeliveredDeployment } from "../../core/deployment.ts";
import { FIRST_DEPLOYMENT_PAGE } from "../../core/cursor.ts";
import { type DeploymentRow, toDeployment, toSummary } from "../deployment-row.ts";
import {
  type CreateResult,
  type DeploymentCreation,
  type DeploymentPage,
  type DeploymentStore,
  type DeploymentUpdate,
  type EventBatch,
  MAX_UNDELIVERED,
  toPage,
} from "../deployments.ts";
import type { AppendSignal } from "../account-events.ts";
import { type SessionFence, StaleSessionError } from "../sessions.ts";
import { createDeployment } from "./create-deployment.ts";
import * as sql from "./deployment-statements.ts";
import {
  type DeviceOfSession,
  type EventRange,
  type FencedRead,
  findAll,
  findHolders,
  type Found,
  listAllUndelivered,
  readAllEvents,
  type Undelivered,
} from "./deployment-reads.ts";
import { DeploymentWriter, writeUpdates } from "./deployment-writer.ts";
import { JointReads } from "./joint-reads.ts";
import { type PostgresPool, repeatOnConflict } from "./pool.ts";

/** How many batches of changes, or of reads of one kind, may be on their way. More would be smaller, and cost more. */
const MAX_BATCHES = 2;

export class PostgresDeploymentStore implements DeploymentStore {
  readonly #pool: PostgresPool;
  readonly #appended: AppendSignal;
  readonly #writer: DeploymentWriter;
  readonly #deployments: JointReads<FencedRead, Found>;
  readonly #holders: JointReads<string, string | undefined>;
  readonly #events: JointReads<EventRange, EventBatch>;
  readonly #undelivered: JointReads<DeviceOfSession, Undelivered>;

  constructor(pool: PostgresPool, appended: AppendSignal) {
    this.#pool = pool;
    this.#appended = appended;
    this.#writer = new DeploymentWriter(pool, appended, MAX_BATCHES);
    this.#deployments = new JointReads((reads) => findAll(pool, reads), MAX_BATCHES);
    this.#holders = new JointReads((assetUuids) => findHolders(pool, assetUuids), MAX_BATCHES);
    this.#events = new JointReads((ranges) => readAllEvents(pool, ranges), MAX_BATCHES);
    this.#undelivered = new JointReads((devices) => listAllUndelivered(pool, devices), MAX_BATCHES);
  }

  async createDeployment(creation: DeploymentCreation): Promise<CreateResult> {
    const result = await createDeployment(this.#pool, creation);
    if (result.kind === "created") this.#appended.emit([creation.after.accountId]);
    return result;
  }

  findHolder(assetUuid: string): Promise<string | undefined> {
    return this.#holders.read(assetUuid);
  }

  async findDeployment(id: string, fence?: SessionFence): Promise<Deployment | undefined> {
    const { deployment, isValid } = await this.#deployments.read({ id, fence });
    if (fence && !isValid) throw new StaleSessionError(fence);
    return deployment;
  }

  async findLastSeqs(ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const { rows } = await this.#pool.query<{ id: string; lastSeq: number }>(sql.FIND_LAST_SEQS, [ids]);
    return new Map(rows.map(({ id, lastSeq }) => [id, lastSeq]));
  }

  async findSummary(id: string): Promise<DeploymentSummary | undefined> {
    const { rows } = await this.#pool.query(sql.FIND_SUMMARY, [id]);
    return rows.map(toSummary)[0];
  }

  async listDeployments(assetUuid: string, limit: number, after = FIRST_DEPLOYMENT_PAGE): Promise<DeploymentPage> {
    const values = [assetUuid, after.createdAtMs, after.id, limit + 1];
    const { rows } = await this.#pool.query<DeploymentRow & { found: number }>(sql.LIST_PAGE, values);
    const deployments = rows.slice(0, limit).map(toDeployment);
    return toPage(deployments, (rows[0]?.found ?? 0) > deployments.length);
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

  async listUndeliveredAssets(instanceId: string, after = ""): Promise<readonly string[]> {
    const { rows } = await this.#pool.query<{ asset_uuid: string }>(sql.LIST_UNDELIVERED_ASSETS, [
      instanceId,
      after,
      MAX_UNDELIVERED,
    ]);
    return rows.map((row) => row.asset_uuid);
  }

  updateDeployment(update: DeploymentUpdate): Promise<boolean> {
    return this.#writer.update(update);
  }

  async updateDeployments(updates: readonly DeploymentUpdate[]): Promise<ReadonlySet<string>> {
    const { stored, accounts } = await repeatOnConflict(() => writeUpdates(this.#pool, updates));
    this.#appended.emit(accounts);
    return stored;
  }

  async findNextDue(): Promise<number | undefined> {
    const { rows } = await this.#pool.query<{ due: number | null }>(sql.NEXT_DUE, []);
    return rows[0]?.due ?? undefined;
  }

  async listDue(serviceNowMs: number, limit: number): Promise<readonly Deployment[]> {
    return this.#list(sql.LIST_DUE, [Math.floor(serviceNowMs), limit]);
  }

  readEvents(id: string, after: number, limit: number): Promise<EventBatch> {
    return this.#events.read({ id, after, limit });
  }

  async removeFinished(beforeMs: number, limit: number): Promise<number> {
    const removed = await repeatOnConflict(() => this.#pool.query(sql.REMOVE_FINISHED, [beforeMs, limit]));
    return removed.rowCount;
  }

  async #list(text: string, values: readonly unknown[]): Promise<readonly Deployment[]> {
    return (await this.#pool.query<DeploymentRow>(text, values)).rows.map(toDeployment);
  }
}
