import { type Clock, unixNow } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import type { SimType } from "../../protocol/assets/sim.ts";
import { assetLockOf } from "./asset-lock.ts";
import { afterChange, followUpPauseMs } from "../core/sims/observed-state.ts";
import { changedFieldName, type SimChange, type UpdatePlan } from "../core/asset-update.ts";
import { callOperator } from "../sim-operator/call-operator.ts";
import { failureDetails } from "../sim-operator/explain-failure.ts";
import { type ObservedSim, type OperatorSim, type SimChanges, toOperatorSim } from "../sim-operator/sim-operator.ts";
import type { SimOperators } from "../sim-operator/sim-operators.ts";
import { auditEntry, type AuditOrigin } from "../accounts/audit-entry.ts";
import type { Asset, SimState } from "../core/asset.ts";
import type { AuditEntry } from "../store/audit.ts";
import type { Store } from "../store/store.ts";
import { StoreUnavailableError } from "../store/unavailable.ts";
import type { LeaseLock } from "../instances/lease-lock.ts";

export interface AssetUpdaterOptions {
  readonly store: Pick<Store, "assets" | "sims" | "networkGroups" | "audit">;
  readonly simOperators: SimOperators;
  readonly locks: LeaseLock;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Aborts when the server begins to stop. */
  readonly stopping: AbortSignal;
}

interface AppliedChange {
  readonly observed: ObservedSim;
  /** The status in the operator's words; `undefined` where no operator serves the SIM. */
  readonly said: string | undefined;
}

/** Decides on the changes, given the asset and the account's own network groups. Pure; throws typed errors. */
export type UpdateDecision = (asset: Asset, ownGroups: readonly string[]) => UpdatePlan;

/** Carries out updates, one at a time per asset, so the stored state is the last that the operator confirmed. */
export class AssetUpdater {
  readonly #options: AssetUpdaterOptions;

  constructor(options: AssetUpdaterOptions) {
    this.#options = options;
  }

  /**
   * Carries out the changes that `decide` returns, and returns the updated asset. Errors: `AssetNotFound`, those of
   * `decide` before anything has changed, and `SimOperatorFailed` with the names of the fields in `details.changed` and
   * `details.not_changed`.
   */
  async update(origin: AuditOrigin, identifier: string, decide: UpdateDecision): Promise<Asset> {
    const { store } = this.#options;
    const { accountId } = origin;
    const { uuid } = await this.#find(accountId, identifier);
    await using _lock = await this.#lock(uuid);
    const asset = await this.#find(accountId, uuid);
    const plan = decide(asset, await store.networkGroups.listNetworkGroups(accountId));
    await this.#changeSims(asset, plan, origin);
    for (const field of describedFields(plan)) {
      const alone = { name: undefined, [field]: plan[field], simChanges: [] };
      const entry = this.#entry(origin, asset, alone, changedAlone(plan, field));
      await store.assets.describeAsset(uuid, { [field]: plan[field] }, entry);
    }
    return this.#find(accountId, uuid);
  }

  async #lock(uuid: string): Promise<AsyncDisposable> {
    const { locks, stopping } = this.#options;
    try {
      return await locks.acquire(assetLockOf(uuid), stopping);
    } catch (error) {
      // Nothing has changed yet.
      throw stopping.aborted ? new EdgeError("ServiceUnavailable", "The service is stopping.") : error;
    }
  }

  async #find(accountId: string, identifier: string): Promise<Asset> {
    const asset = await this.#options.store.assets.findAsset(accountId, identifier);
    if (!asset) throw new EdgeError("AssetNotFound");
    return asset;
  }

  #entry(
    origin: AuditOrigin,
    asset: Asset,
    { name, type, simChanges }: UpdatePlan,
    { failure, changed, not_changed }: { failure?: EdgeError; changed?: unknown; not_changed?: unknown },
  ): AuditEntry {
    const valueOf = (field: SimChange["field"]) => simChanges.find((change) => change.field === field)?.value;
    return auditEntry(origin, this.#options.clock, {
      action: "asset.changed",
      assetUuid: asset.uuid,
      subject: { kind: "asset", id: asset.uuid, name: asset.name },
      ...(failure && { outcome: failure.code }),
      details: { name, type, status: valueOf("status"), network_group: valueOf("network_group"), changed, not_changed },
    });
  }

  async #changeSims(asset: Asset, plan: UpdatePlan, origin: AuditOrigin): Promise<void> {
    const states = new Map<SimType, SimState>();
    for (const [index, change] of plan.simChanges.entries()) {
      const sim = toOperatorSim(asset, change.sim);
      if (!sim) throw new Error(`the plan changes a ${change.sim}, which the asset does not have`);
      try {
        const current = states.get(change.sim) ?? sim.state;
        const { observed, said } = await this.#applyChange(asset.accountId, { ...sim, state: current }, change);
        const state = afterChange(current, changesOf(change), observed, unixNow(this.#options.clock));
        states.set(change.sim, state);
        // Stored after each change, so the record is right even if the next change or this process fails. Each has its
        // entry: whatever is stored, the log says who did it.
        const alone = { name: undefined, simChanges: [change] };
        const entry = this.#entry(origin, asset, alone, changedAlone(plan, changedFieldName(change)));
        await this.#options.store.sims.setSimState(
          asset.uuid,
          change.sim,
          state,
          entry,
          this.#nextCheckMs(state),
          said,
        );
      } catch (cause) {
        // The operator may have carried it out. Every change is idempotent, so the client repeats the update.
        if (cause instanceof StoreUnavailableError) throw cause;
        this.#options.logger.error(
          { err: cause, asset: asset.uuid, change: changedFieldName(change) },
          "SIM operator failed",
        );
        const failure = operatorFailed(plan, index, cause);
        await this.#options.store.audit.addEntry(this.#entry(origin, asset, plan, { failure, ...failure.details }));
        throw failure;
      }
    }
  }

  /** When what the operator has queued is looked at again; `undefined` if nothing is. */
  #nextCheckMs({ pending }: SimState): number | undefined {
    const nowMs = this.#options.clock.now();
    return pending && nowMs + followUpPauseMs(pending, nowMs);
  }

  async #applyChange(accountId: string, sim: OperatorSim, change: SimChange): Promise<AppliedChange> {
    const { simOperators, clock, stopping } = this.#options;
    const operator = await simOperators.find(accountId, sim.type);
    const observed = await callOperator(clock, stopping, (signal) => operator.change(sim, changesOf(change), signal));
    return { observed, said: operator.usagePeriod === undefined ? undefined : observed.operatorStatus };
  }
}

function changesOf({ field, value }: SimChange): SimChanges {
  return field === "network_group" ? { networkGroup: value } : { status: value };
}

/** What the entry of one change of the plan says besides the change: which it is, if the plan has several. */
function changedAlone(plan: UpdatePlan, field: string): { readonly changed?: readonly string[] } {
  return plan.simChanges.length + describedFields(plan).length > 1 ? { changed: [field] } : {};
}

/** What the plan changes of the record alone. */
function describedFields(plan: UpdatePlan): ("name" | "type")[] {
  return (["name", "type"] as const).filter((field) => plan[field] !== undefined);
}

function operatorFailed(plan: UpdatePlan, index: number, cause: unknown): EdgeError {
  const names = plan.simChanges.map(changedFieldName);
  const changed = names.slice(0, index);
  const notChanged = [...names.slice(index), ...describedFields(plan)];
  const summary = changed.length === 0 ? "nothing was changed" : `changed: ${changed.join(", ")}`;
  return new EdgeError(
    "SimOperatorFailed",
    `The SIM operator did not carry out the whole change; ${summary}; not changed: ${notChanged.join(", ")}.`,
    { changed, not_changed: notChanged, ...failureDetails(cause) },
    { cause },
  );
}
