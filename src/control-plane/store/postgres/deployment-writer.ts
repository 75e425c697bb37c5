import type { AppendSignal } from "../account-events.ts";
import { CHANGED_COLUMNS, changedSpec } from "../deployment-columns.ts";
import type { DeploymentUpdate } from "../deployments.ts";
import { StoreUnavailableError } from "../unavailable.ts";
import type { Queryable } from "../sql/postgres-executor.ts";
import { auditRow } from "./audit-row.ts";
import { assetEffectsOf } from "./asset-effects.ts";
import { WRITE_CHANGES, WRITE_CHANGES_WITH_EFFECTS } from "./deployment-statements.ts";
import { repeatOnConflict } from "./pool.ts";

/** An empty list of effects. */
const NONE = "[]";

/** Maximum number of changes that are stored together. */
const MAX_TOGETHER = 256;

interface QueuedUpdate {
  readonly update: DeploymentUpdate;
  readonly settle: PromiseWithResolvers<boolean>;
}

/** Stores changes of deployments: those that arrive while others are on their way to the database go there together. */
export class DeploymentWriter {
  readonly #pool: Queryable;
  readonly #appended: AppendSignal;
  /** How many batches may be on their way at a time. */
  readonly #maxBatches: number;
  #waiting: QueuedUpdate[] = [];
  #batches = 0;
  #isScheduled = false;
  /** Deployments of which a change is on its way. One statement stores one change of each. */
  readonly #busy = new Set<string>();

  constructor(pool: Queryable, appended: AppendSignal, maxBatches: number) {
    this.#pool = pool;
    this.#appended = appended;
    this.#maxBatches = maxBatches;
  }

  /** Returns whether the change was stored: see `DeploymentStore`. */
  update(update: DeploymentUpdate): Promise<boolean> {
    const settle = Promise.withResolvers<boolean>();
    this.#waiting.push({ update, settle });
    this.#schedule();
    return settle.promise;
  }

  /** Waits for the end of the turn, so that changes of one turn go together. */
  #schedule(): void {
    if (this.#isScheduled || this.#batches >= this.#maxBatches) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#start();
    });
  }

  #start(): void {
    const batch = this.#takeBatch();
    if (batch.length === 0) return;
    this.#batches++;
    void this.#store(batch).finally(() => {
      for (const { update } of batch) this.#busy.delete(update.after.id);
      this.#batches--;
      if (this.#waiting.length > 0) this.#schedule();
    });
    if (this.#waiting.length > 0) this.#schedule();
  }

  /** Returns changes of deployments that are not on their way, in the order in which they came. */
  #takeBatch(): QueuedUpdate[] {
    const batch: QueuedUpdate[] = [];
    const later: QueuedUpdate[] = [];
    for (const waiting of this.#waiting) {
      const { id } = waiting.update.after;
      const isReady = batch.length < MAX_TOGETHER && !this.#busy.has(id);
      if (isReady) this.#busy.add(id);
      (isReady ? batch : later).push(waiting);
    }
    this.#waiting = later;
    return batch;
  }

  async #store(batch: readonly QueuedUpdate[]): Promise<void> {
    try {
      const updates = batch.map(({ update }) => update);
      const { stored, accounts } = await repeatOnConflict(() => writeUpdates(this.#pool, updates));
      this.#appended.emit(accounts);
      for (const { update, settle } of batch) settle.resolve(stored.has(update.after.id));
    } catch (error) {
      // A change that the database refuses must not fail its neighbours.
      const isOfOne = batch.length > 1 && !(error instanceof StoreUnavailableError);
      for (const waiting of batch) {
        if (isOfOne) await this.#store([waiting]);
        else waiting.settle.reject(error);
      }
    }
  }
}

export interface WrittenUpdates {
  /** Ids of the deployments. */
  readonly stored: ReadonlySet<string>;
  /** Accounts that may have new events once that is committed. */
  readonly accounts: readonly string[];
}

/** Stores the changes of different deployments that are as they were read, and returns the ids of these. */
export async function writeUpdates(client: Queryable, updates: readonly DeploymentUpdate[]): Promise<WrittenUpdates> {
  if (updates.length === 0) return { stored: new Set(), accounts: [] };
  const inOrder = updates.toSorted((a, b) => (a.after.id < b.after.id ? -1 : 1));
  const events = inOrder.flatMap(({ after: { id }, events: own }) =>
    own.map(({ seq, json }) => ({ id, seq, event: json })),
  );
  const audit = inOrder.flatMap(({ after, audit: entry }) =>
    entry ? [{ deployment_id: after.id, ...auditRow(entry) }] : [],
  );
  const { effects, events: told, accounts } = assetEffectsOf(inOrder);
  const values = [inOrder.map(toRow), events, audit].map((each) => JSON.stringify(each));
  const hasEffects = effects !== NONE || told !== NONE;
  const { rows } = hasEffects
    ? await client.query<{ id: string }>(WRITE_CHANGES_WITH_EFFECTS, [...values, effects, told])
    : await client.query<{ id: string }>(WRITE_CHANGES, values);
  return { stored: new Set(rows.map(({ id }) => id)), accounts };
}

function toRow(update: DeploymentUpdate): Record<string, unknown> {
  const { before, after, fence } = update;
  const row: Record<string, unknown> = {
    id: after.id,
    versionBefore: before.version,
    fenceAsset: fence?.assetUuid,
    fenceEpoch: fence?.epoch,
    spec: changedSpec(update),
  };
  for (const { name, valueOf } of CHANGED_COLUMNS) row[name] = valueOf(after);
  return row;
}
