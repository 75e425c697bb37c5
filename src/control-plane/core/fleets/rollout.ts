import type { RolloutStrategy } from "../../../protocol/rollout-strategy.ts";
import type { RolloutState } from "../../../protocol/rollout.ts";
import type { Person } from "./fleet.ts";

/** The record of a rollout. Times are Unix milliseconds. */
export interface Rollout {
  readonly id: string;
  readonly accountId: string;
  readonly fleetId: string;
  /**
   * `upkeep`: the one of each fleet that brings single members to its stable revision outside of rollouts: those that joined,
   * that were deferred, or that a person wants repaired. It is never over.
   */
  readonly kind: "rollout" | "upkeep";
  /** The rollout whose failed assets alone it takes; `undefined`: it takes all members. */
  readonly retryOf: string | undefined;
  /** What it brings to the members. */
  readonly revision: number;
  /** The fleet's `stableRevision` when it was made: what going back goes to. `undefined`: its apps are removed. */
  readonly previousRevision: number | undefined;
  readonly state: RolloutState;
  /** The strategy of the fleet when it was made, with what the request changed. */
  readonly strategy: RolloutStrategy;
  /** Index of the wave that is under way, from 0. */
  readonly wave: number;
  /** Number of targets in each wave when it was started. */
  readonly waveSizes: readonly number[];
  readonly waveEnteredAtMs: number | undefined;
  /** Index of the next wave, once a person has let it begin. Counts once, for the wave after `wave`. */
  readonly advanceTo: number | undefined;
  /**
   * Number of failed and lost targets when a person last let it go on: these do not stop it again, and those of them that are
   * lost do not keep their place among `max_parallel` any more. 0: it was never resumed.
   */
  readonly acceptedFailures: number;
  /** Why it is paused, going back or ended, for people; `undefined` if there is nothing to say. */
  readonly reason: string | undefined;
  readonly createdBy: Person;
  readonly approvedBy: Person | undefined;
  readonly createdAtMs: number;
  readonly startedAtMs: number | undefined;
  readonly finishedAtMs: number | undefined;
  /** Whether a coordinator looks after it: it is not over, or targets of it are still under way. */
  readonly isActive: boolean;
  /** Raised by each coordinator that takes it up. A write of an earlier one changes nothing. */
  readonly epoch: number;
  /** 1 at creation, incremented with each change of the record, not of its targets. */
  readonly version: number;
}
