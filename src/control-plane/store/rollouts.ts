import type { Rollout, RolloutFields, Target, TargetCount } from "../core/fleets/rollout.ts";
import type { DeploymentFacts, TargetFacts } from "../core/fleets/target-decision.ts";
import type { Fleet } from "../core/fleets/fleet.ts";
import type { PastAttempt } from "../core/fleets/attempt.ts";
import type { StoredPlan } from "../core/fleets/waves.ts";
import type { TargetWait } from "../core/fleets/rollout-commands.ts";
import type { ErrorCode } from "../../protocol/errors/errors.ts";
import type { RolloutEvent, TargetState } from "../../protocol/fleets/rollout.ts";
import type { AuditEntry } from "./audit.ts";

/** Another coordinator has taken the rollout up, or it was removed. Nothing was written. */
export class StaleRolloutError extends Error {
  constructor(rolloutId: string) {
    super(`rollout ${rolloutId} has another coordinator`);
    this.name = "StaleRolloutError";
  }
}

export type { RolloutFields, TargetCount };

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
  readonly audit?: AuditEntry | undefined;
  /** What the fleet's stable revision becomes. */
  readonly stableRevision?: number | undefined;
}

/** A target with what people call its asset. */
export interface ListedTarget extends Target {
  readonly assetName: string;
  readonly serialNumber: string;
}

/** A change of a target, decided from the target as it was read. It is not made if that has another state by now. */
export interface TargetChange {
  readonly before: Target;
  readonly after: Target;
  /** The revision that its asset runs as a whole from now on; `null`: none. Absent: as before. */
  readonly memberRevision?: number | null | undefined;
  /** An attempt that has ended with it: see `pastAttempt`. */
  readonly past?: PastAttempt | undefined;
}

/** What targets may become `deploying` with. */
export interface Beginning {
  /** The version of the rollout that was read: with another one nothing begins. */
  readonly beginVersion: number;
  /** The apps that the fleet owns on their assets from then on. */
  readonly apps: readonly string[];
}

/** The time at which facts are read. */
export interface FactsTime {
  /** Unix seconds. */
  readonly now: number;
  /** Service time: an instance whose lease has lapsed by then holds no session. */
  readonly serviceNowMs: number;
}

/** What facts depend on besides the target. */
export interface FactsScope extends FactsTime {
  readonly rolloutId: string;
  readonly fleetId: string;
  /** The apps of the fleet. */
  readonly apps: readonly string[];
}

/** A target with what is known of its asset, as it was in one read. */
export interface TargetWithFacts {
  readonly target: Target;
  readonly facts: Omit<TargetFacts, "missingVariables" | "isMember" | "deployment">;
  /** The deployment of its latest attempt, if it is still kept. */
  readonly deployment: StoredAttempt | undefined;
  readonly assetType: string;
  readonly tags: ReadonlyMap<string, string>;
  readonly variableNames: ReadonlySet<string>;
}

export interface StoredAttempt extends Omit<DeploymentFacts, "message" | "putOffUntilMs"> {
  /** Its last event, in JSON. */
  readonly lastEvent: string | undefined;
}

export interface TargetFilter {
  readonly states?: readonly TargetState[];
  readonly wave?: number;
  readonly after?: string;
  /** Only those that have failed or refused on their way to the revision, whatever they are by now. */
  readonly hasFailed?: boolean;
}

/** Failed attempts with one code. */
export interface FailureCount {
  readonly code: ErrorCode | undefined;
  readonly attempts: number;
  readonly assets: number;
}

/** Rollouts and their targets. Removed with their fleet; a target with its asset. */
export interface RolloutStore {
  /**
   * Stores a rollout with its targets and its first event. To those of the fleet that are not over the change is applied that
   * `supersede` returns for them, in the same transaction. False if there is no such fleet.
   */
  createRollout(
    rollout: Rollout,
    targets: readonly Target[],
    event: Omit<RolloutEvent, "seq">,
    supersede: (earlier: Rollout) => RolloutChange,
    audit?: AuditEntry,
  ): Promise<boolean>;
  /** Returns the upkeep of a fleet; `undefined` if it has none yet. */
  findUpkeep(fleetId: string): Promise<Rollout | undefined>;
  findRollout(id: string): Promise<Rollout | undefined>;
  /** Returns the rollouts of a fleet, newest first, at most `limit`, made before the one with this id. */
  listRollouts(fleetId: string, limit: number, before?: string): Promise<readonly Rollout[]>;
  /** Returns the rollouts that a coordinator has to look after, oldest first. */
  listActive(): Promise<readonly Pick<Rollout, "id" | "accountId" | "fleetId" | "kind">[]>;
  /** Returns the fleets that have a stable revision and no upkeep yet. */
  listWithoutUpkeep(): Promise<readonly Fleet[]>;
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
  /** As `updateRollout` without a fence, with the targets counted in the same transaction. */
  commandRollout(
    id: string,
    decide: (rollout: Rollout, counts: readonly TargetCount[]) => RolloutChange | undefined,
  ): Promise<Rollout | undefined>;
  /**
   * Applies changes of targets in one transaction. Throws `StaleRolloutError` if the epoch is not the rollout's. A target
   * becomes `deploying` only if the record of the rollout still has the version `beginVersion` (a pause that was answered lets
   * no target begin), and if no other fleet owns one of `apps` there: the fleet becomes their owner. Returns the assets whose
   * change was made.
   */
  changeTargets(
    fence: RolloutFence,
    changes: readonly TargetChange[],
    beginning?: Beginning,
  ): Promise<ReadonlySet<string>>;
  /** Adds targets that joined later; those that exist stay. Returns how many were added. */
  addTargets(fence: RolloutFence, targets: readonly Target[]): Promise<number>;
  /** Adds an event to the stream of the rollout, whose record stays as it is. With `isForAccount`, also to the account's events. */
  addEvent(
    fence: RolloutFence,
    event: Omit<RolloutEvent, "seq">,
    options?: { readonly isForAccount?: boolean },
  ): Promise<void>;
  /** Removes targets in these states. Returns how many. */
  removeTargets(fence: RolloutFence, states: readonly TargetState[]): Promise<number>;
  /** Returns those of these assets that are no targets of the rollout. */
  findMissing(rolloutId: string, assetUuids: readonly string[]): Promise<readonly string[]>;
  findTarget(rolloutId: string, assetUuid: string): Promise<Target | undefined>;
  /** Returns targets in the order of their UUIDs, at most `limit`, after this one; with a filter by state and wave. */
  listTargets(rolloutId: string, limit: number, filter?: TargetFilter): Promise<readonly ListedTarget[]>;
  /** Returns the past attempts on these assets, the oldest first, at most `MAX_PAST_ATTEMPTS` in each direction. */
  listAttempts(rolloutId: string, assetUuids: readonly string[]): Promise<ReadonlyMap<string, readonly PastAttempt[]>>;
  /** Counts the attempts that have failed on their way to the revision, by code, the most frequent first. */
  countFailedAttempts(rolloutId: string): Promise<readonly FailureCount[]>;
  countTargets(rolloutId: string): Promise<readonly TargetCount[]>;
  /** Returns what the waiting targets of a rollout wait for: at most one entry for each reason and what is in the way. */
  listWaits(rolloutId: string): Promise<readonly TargetWait[]>;
  /** Returns targets that are due at this time, the longest overdue first, at most `limit`, with facts. */
  listDue(scope: FactsScope, nowMs: number, limit: number): Promise<readonly TargetWithFacts[]>;
  /** Returns the targets on these assets, with facts. */
  readTargets(scope: FactsScope, assetUuids: readonly string[]): Promise<readonly TargetWithFacts[]>;
  /** Returns when the next target is due; `undefined`: none is. */
  nextDue(rolloutId: string): Promise<number | undefined>;
  /** Returns up to `limit` targets in this state in waves up to this one, in the order of wave and UUID, with facts. */
  listInState(
    scope: FactsScope,
    state: TargetState,
    upToWave: number,
    limit: number,
    after?: Pick<Target, "wave" | "assetUuid">,
  ): Promise<readonly TargetWithFacts[]>;
  readEvents(
    rolloutId: string,
    after: number,
    limit: number,
  ): Promise<{ readonly events: readonly { readonly seq: number; readonly json: string }[]; readonly isOver: boolean }>;
  /**
   * Removes rollouts that ended before this time (Unix milliseconds), at most `limit`, with their targets and events, oldest
   * first. The newest of each fleet stays: it says which members a rollout has not reached. Returns how many were removed.
   */
  removeOldRollouts(beforeMs: number, limit: number): Promise<number>;

  /** Stores a plan, and removes those of the account that have expired by its creation, and the oldest beyond `MAX_PLANS`. */
  createPlan(plan: StoredPlan): Promise<void>;
  findPlan(id: string): Promise<StoredPlan | undefined>;
  /** Does nothing if there is none. */
  removePlan(id: string): Promise<void>;
}
