import type { AuditEntry } from "../audit.ts";
import { type Deployment, type DeploymentChange, isFinished } from "../../core/deployment.ts";
import { type DeploymentRow, toDeployment } from "../deployment-row.ts";
import type { AppendSignal } from "../account-events.ts";
import { type SessionFence, StaleSessionError } from "../sessions.ts";
import { StoreUnavailableError } from "../unavailable.ts";
import { auditRow } from "./audit-row.ts";
import { type ChangedDeployment, changedValues, unchanged, withChange } from "./deployment-change.ts";
import { effectsOf } from "./deployment-effects.ts";
import { FIND_ALL, IS_CURRENT_SESSION, WRITE_CHANGES, WRITE_CHANGES_WITH_EFFECTS } from "./deployment-statements.ts";
import { type KnownDeployment, KnownDeployments } from "./known-deployments.ts";
import { type Queryable, repeatOnConflict } from "./pool.ts";

/** An empty list of effects. */
const NONE = "[]";

export type Decide = (deployment: Deployment) => DeploymentChange | undefined;

/** Maximum number of changes that are stored together. */
const MAX_TOGETHER = 256;

/** A call that changes one deployment. */
class Call {
  readonly id: string;
  readonly decide: Decide;
  readonly fence: SessionFence | undefined;
  readonly audit: AuditEntry | undefined;
  readonly #settle: PromiseWithResolvers<Deployment | undefined>;
  #hasEnded = false;

  constructor(
    id: string,
    decide: Decide,
    fence: SessionFence | undefined,
    audit: AuditEntry | undefined,
    settle: PromiseWithResolvers<Deployment | undefined>,
  ) {
    this.id = id;
    this.decide = decide;
    this.fence = fence;
    this.audit = audit;
    this.#settle = settle;
  }

  /** Whether its caller has the result: it must not change anything any more. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  resolve(deployment: Deployment | undefined): void {
    this.#hasEnded = true;
    this.#settle.resolve(deployment);
  }

  reject(error: unknown): void {
    this.#hasEnded = true;
    this.#settle.reject(error);
  }
}

/** Calls for one deployment, and what they change, in their order. */
interface Chain {
  readonly changed: ChangedDeployment;
  readonly fence: SessionFence | undefined;
  /** Entries of the audit log about the changes. */
  readonly audit: readonly AuditEntry[];
  readonly results: readonly { readonly call: Call; readonly after: Deployment }[];
  /** What the decisions are based on. */
  readonly known: KnownDeployment;
}

/**
 * Changes deployments by the version they were read at. Calls that arrive while others are on their way to the database go
 * there together: one statement reads all their deployments, one stores all changes. Calls for one deployment are decided
 * in memory one after the other. What was changed a moment ago for the same session is not read again: if somebody else has
 * changed it since, the change is not stored, and is decided again on what is read then.
 */
export class DeploymentWriter {
  readonly #pool: Queryable;
  readonly #appended: AppendSignal;
  /** How many batches may be on their way at a time. */
  readonly #maxBatches: number;
  #waiting: Call[] = [];
  #batches = 0;
  #isScheduled = false;
  /** Deployments of which a change is on its way. */
  readonly #busy = new Set<string>();
  readonly #known = new KnownDeployments();

  constructor(pool: Queryable, appended: AppendSignal, maxBatches: number) {
    this.#pool = pool;
    this.#appended = appended;
    this.#maxBatches = maxBatches;
  }

  update(
    id: string,
    decide: Decide,
    fence: SessionFence | undefined,
    audit?: AuditEntry,
  ): Promise<Deployment | undefined> {
    const settle = Promise.withResolvers<Deployment | undefined>();
    this.#waiting.push(new Call(id, decide, fence, audit, settle));
    this.#schedule();
    return settle.promise;
  }

  /** Waits for the end of the turn, so that calls of one turn go together. */
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
    const ids = new Set(batch.map(({ id }) => id));
    for (const id of ids) this.#busy.add(id);
    void this.#run(batch).finally(() => {
      for (const id of ids) this.#busy.delete(id);
      this.#batches--;
      if (this.#waiting.length > 0) this.#schedule();
    });
    if (this.#waiting.length > 0) this.#schedule();
  }

  /** Returns calls for deployments that are not on their way, in the order in which they came. */
  #takeBatch(): Call[] {
    const batch: Call[] = [];
    const later: Call[] = [];
    for (const call of this.#waiting) {
      const isReady = batch.length < MAX_TOGETHER && !this.#busy.has(call.id);
      (isReady ? batch : later).push(call);
    }
    this.#waiting = later;
    return batch;
  }

  async #run(batch: readonly Call[]): Promise<void> {
    const left = (): readonly Call[] => batch.filter(({ hasEnded }) => !hasEnded);
    try {
      // Each round at least one of those who change a deployment at the same time succeeds.
      while (left().length > 0) await repeatOnConflict(() => this.#tryOnce(left()));
    } catch (error) {
      // A change that the database refuses must not fail its neighbours.
      const isOfOne = batch.length > 1 && !(error instanceof StoreUnavailableError);
      for (const call of left()) {
        if (isOfOne) await this.#run([call]);
        else call.reject(error);
      }
    }
  }

  /** Leaves the calls to be tried again whose deployments others have changed meanwhile. */
  async #tryOnce(calls: readonly Call[]): Promise<void> {
    const chains = await this.#decide(calls);
    const changes = chains.filter(({ changed }) => changed.after !== changed.before);
    const { stored, accounts } = await writeChanges(this.#pool, changes);
    this.#appended.emit(accounts);
    for (const { changed, results, known } of chains) {
      const { before, after } = changed;
      const isStored = after === before || stored.has(after.id);
      if (isStored && !isFinished(after)) this.#known.remember(after.id, afterChange(known, changed));
      else this.#known.forget(after.id);
      if (!isStored) continue;
      for (const { call, after: result } of results) call.resolve(result);
    }
  }

  /** Decides what changes, on what is known, else on what is read. Ends the calls that can be ended without a change. */
  async #decide(calls: readonly Call[]): Promise<readonly Chain[]> {
    const chains: Chain[] = [];
    const unknown: Call[] = [];
    for (const own of Map.groupBy(calls, ({ id }) => id).values()) {
      const chain = this.#decideOnKnown(own);
      if (chain) chains.push(chain);
      else unknown.push(...own);
    }
    return unknown.length === 0 ? chains : [...chains, ...(await this.#decideOnRead(unknown))];
  }

  /** Returns `undefined` unless there is a change for one session, whose storing will show that it was right. */
  #decideOnKnown(calls: readonly Call[]): Chain | undefined {
    const [first] = calls;
    const { fence } = first ?? {};
    const known = first && fence && this.#known.find(first.id, fence);
    if (!known || calls.some((call) => !isSameSession(call.fence, fence))) return undefined;
    let changed = unchanged(known.deployment);
    const results: Chain["results"][number][] = [];
    const audit: AuditEntry[] = [];
    try {
      for (const call of calls) {
        const change = call.decide(changed.after);
        if (change) changed = withChange(changed, change);
        if (change && call.audit) audit.push(call.audit);
        results.push({ call, after: changed.after });
      }
    } catch {
      // Decided again, and failed if it must be.
      return undefined;
    }
    return changed.after === changed.before ? undefined : { changed, fence, audit, results, known };
  }

  async #decideOnRead(calls: readonly Call[]): Promise<readonly Chain[]> {
    const readAt = performance.now();
    const ids = [...new Set(calls.map(({ id }) => id))];
    const { rows } = await this.#pool.query<DeploymentRow>(FIND_ALL, [ids]);
    const found = new Map(rows.map((row) => [row.id, row]));
    const chains = new Map<string, Chain>();
    for (const call of calls) {
      const row = found.get(call.id);
      if (call.fence && !(await this.#isCurrent(call.fence, row))) {
        call.reject(new StaleSessionError(call.fence));
      } else if (row) {
        const chain = chains.get(call.id) ?? newChain(row, readAt);
        const next = extend(chain, call);
        if (next) chains.set(call.id, next);
      } else {
        call.resolve(undefined);
      }
    }
    return [...chains.values()];
  }

  /** Needs a statement of its own only if the deployment is not one of the session's device. */
  async #isCurrent({ assetUuid, epoch }: SessionFence, row: DeploymentRow | undefined): Promise<boolean> {
    if (row?.asset_uuid === assetUuid) return row.epoch === epoch;
    return (await this.#pool.query(IS_CURRENT_SESSION, [assetUuid, epoch])).rowCount > 0;
  }
}

function isSameSession(a: SessionFence | undefined, b: SessionFence): boolean {
  return a?.assetUuid === b.assetUuid && a.epoch === b.epoch;
}

function newChain(row: DeploymentRow, readAt: number): Chain {
  const deployment = toDeployment(row);
  const known = { deployment, epoch: row.epoch, specLength: row.spec.length, readAt };
  return { changed: unchanged(deployment), fence: undefined, audit: [], results: [], known };
}

/** What is known once the change is stored. */
function afterChange(known: KnownDeployment, { before, after }: ChangedDeployment): KnownDeployment {
  const accountStoredBytes = before.accountStoredBytes + after.eventBytes - before.eventBytes;
  return { ...known, deployment: { ...after, accountStoredBytes } };
}

/** Adds the change of a call to its deployment; `undefined` if the call has failed. */
function extend({ changed, fence, audit, results, known }: Chain, call: Call): Chain | undefined {
  try {
    const change = call.decide(changed.after);
    const next = change ? withChange(changed, change) : changed;
    return {
      changed: next,
      fence: call.fence ?? fence,
      audit: change && call.audit ? [...audit, call.audit] : audit,
      results: [...results, { call, after: next.after }],
      known,
    };
  } catch (error) {
    call.reject(error);
    return undefined;
  }
}

export interface WrittenChanges {
  /** Ids of the deployments. */
  readonly stored: ReadonlySet<string>;
  /** Accounts that may have new events once that is committed. */
  readonly accounts: readonly string[];
}

/** Stores the changes whose deployments are as they were read, and returns the ids of these. */
export async function writeChanges(
  client: Queryable,
  changes: readonly Pick<Chain, "changed" | "fence" | "audit">[],
): Promise<WrittenChanges> {
  if (changes.length === 0) return { stored: new Set(), accounts: [] };
  const inOrder = changes.toSorted((a, b) => (a.changed.after.id < b.changed.after.id ? -1 : 1));
  const rows = inOrder.map(({ changed, fence }) => ({
    id: changed.after.id,
    versionBefore: changed.before.version,
    fenceAsset: fence?.assetUuid,
    fenceEpoch: fence?.epoch,
    ...changedValues(changed),
  }));
  const events = inOrder.flatMap(({ changed }) => changed.events);
  const audit = inOrder.flatMap(({ changed, audit: entries }) =>
    entries.map((entry) => ({ deployment_id: changed.after.id, ...auditRow(entry) })),
  );
  const { effects, events: told, accounts } = effectsOf(inOrder.map(({ changed }) => changed));
  const values = [rows, events, audit].map((each) => JSON.stringify(each));
  const hasEffects = effects !== NONE || told !== NONE;
  const stored = hasEffects
    ? await client.query<{ id: string }>(WRITE_CHANGES_WITH_EFFECTS, [...values, effects, told])
    : await client.query<{ id: string }>(WRITE_CHANGES, values);
  return { stored: new Set(stored.rows.map(({ id }) => id)), accounts };
}
