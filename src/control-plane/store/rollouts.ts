import type { RolloutFields, TargetCount, TargetFields } from "../core/fleets/changes.ts";
import type { DeploymentFacts, TargetFacts } from "../core/fleets/facts.ts";
import type { Rollout } from "../core/fleets/rollout.ts";
import type { Target } from "../core/fleets/target.ts";
import type { RolloutEvent, TargetState } from "../../protocol/rollout.ts";
import type { AuditEntry } from "./audit.ts";

/** Another coordinator has taken the rollout up, or it was removed. Nothing was written. */
export class StaleRolloutError extends Error {
  constructor(rolloutId: string) {
    super(`rollout ${rolloutId} has another coordinator`);
    this.name = "StaleRolloutError";
  }
}

export type { RolloutFields, TargetCount, TargetFields };

/** Identifies a rollout for the coordinator that has taken it up. */
export interface RolloutFence {
  readonly rolloutId: string;
  readonly epoch: number;
}

/** A change of a rollout, with what is told about it in the same transaction. */
export interface RolloutChange {
  readonly fields: RolloutFields;
  /** The next event of its stream, without its number. */
  readonly event?: Omit<RolloutEvent, "seq">;
  readonly audit?: AuditEntry;
}

/** A change of a target, decided from the target as it was read. */
export interface TargetChange {
  readonly assetUuid: string;
  /** It is not changed if its state, attempt or direction are others by now. */
  readonly from: Pick<Target, "state" | "attempt" | "direction">;
  readonly fields: TargetFields;
}

export type RolloutCreation =
  | { readonly kind: "created" }
  /** Another rollout of the fleet is going back, which cannot be superseded. */
  | { readonly kind: "rolling_back"; readonly id: string }
  | { readonly kind: "too_many" };

export interface TargetPage {
  readonly targets: readonly (Target & { readonly assetName: string })[];
}

/** A target with the facts about its asset, as they were in one read. */
export interface TargetWithFacts {
  readonly target: Target;
  readonly facts: Omit<TargetFacts, "missingVariables" | "isMember" | "deployment"> & {
    readonly deployment: Omit<DeploymentFacts, "putOffUntilMs"> & { readonly lastEventJson: string | undefined } | undefined;
    /** Tags of the asset, for the selector. */
    readonly tags: ReadonlyMap<string, string>;
    readonly assetType: string;
    readonly variableNames: readonly string[];
  };
}

/** Rollouts and their targets. Removed with their fleet; a target with its asset. */
export interface RolloutStore {
  /**
   * Stores a rollout with its targets and its first event. Rollouts of the fleet that are not over become `superseded` in the
   * same transaction, as `supersede` says: their targets that are not begun are skipped; those under way end first.
   */
  createRollout(
    rollout: Rollout,
    targets: readonly Target[],
    event: Omit<RolloutEvent, "seq">,
    supersede: (earlier: Rollout) => RolloutChange,
    audit: AuditEntry,
  ): Promise<RolloutCreation>;
  findRollout(id: string): Promise<Rollout | undefined>;
  /** Returns the rollouts of a fleet, newest first, at most `limit`, made before the one with this id. */
  listRollouts(fleetId: string, limit: number, before?: string): Promise<readonly Rollout[]>;
  /** Returns the ids of rollouts that a coordinator has to look after: those that are not over or still have targets under way. */
  listActive(): Promise<readonly string[]>;
  /** Raises the epoch: from now on earlier coordinators change nothing. Returns the rollout afterwards. */
  takeUp(id: string): Promise<Rollout | undefined>;
  /**
   * Applies the change that `decide` returns for the stored rollout; `decide` must be pure. With a fence, throws
   * `StaleRolloutError` if its epoch is not the rollout's. Returns the rollout afterwards.
   */
  updateRollout(
    id: string,
    decide: (rollout: Rollout) => RolloutChange | undefined,
    fence?: RolloutFence,
  ): Promise<Rollout | undefined>;
  /**
   * Applies changes of targets, and of the rollout, in one transaction. Throws `StaleRolloutError` if the epoch is not the
   * rollout's. `mayBegin` names the states and the record's version in which targets may become `deploying`: if the rollout is
   * another by now, those changes are left out (a pause that was answered lets no target begin). Claims the ownership of `apps`
   * for each target that becomes `deploying`; one that another fleet owns an app of is left out.
   * Returns the assets whose change was applied.
   */
  changeTargets(
    fence: RolloutFence,
    changes: readonly TargetChange[],
    options: { readonly beginVersion?: number; readonly apps?: readonly string[] },
  ): Promise<ReadonlySet<string>>;
  /** Adds targets that joined later; those that exist stay. */
  addTargets(fence: RolloutFence, targets: readonly Target[]): Promise<number>;
  findTarget(rolloutId: string, assetUuid: string): Promise<Target | undefined>;
  /** Returns targets in the order of their UUIDs, at most `limit`, after this one; with a filter by state and wave. */
  listTargets(
    rolloutId: string,
    limit: number,
    filter?: { readonly states?: readonly TargetState[]; readonly wave?: number; readonly after?: string },
  ): Promise<readonly (Target & { readonly assetName: string })[]>;
  countTargets(rolloutId: string): Promise<readonly TargetCount[]>;
  /** Returns targets that are due at this time, the longest overdue first, at most `limit`, with facts. */
  listDue(rolloutId: string, nowMs: number, limit: number): Promise<readonly TargetWithFacts[]>;
  /** Returns the targets on these assets, with facts. */
  readTargets(rolloutId: string, assetUuids: readonly string[]): Promise<readonly TargetWithFacts[]>;
  /** Returns when the next target is due; `undefined`: none is. */
  nextDue(rolloutId: string): Promise<number | undefined>;
  /** Returns up to `limit` targets that could begin: `pending` in waves up to this one, in the order of wave and UUID. */
  listPending(rolloutId: string, upToWave: number, limit: number): Promise<readonly TargetWithFacts[]>;
  /** Returns active rollouts that have this asset as a target. */
  listRolloutsOf(assetUuid: string): Promise<readonly string[]>;
  readEvents(
    rolloutId: string,
    after: number,
    limit: number,
  ): Promise<{ readonly events: readonly { readonly seq: number; readonly json: string }[]; readonly isOver: boolean }>;
  /** Removes rollouts that ended before this time, at most `limit`, except the last of each fleet. */
  removeOldRollouts(beforeMs: number, limit: number): Promise<number>;
}
