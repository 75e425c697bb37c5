import type { TargetFields } from "./changes.ts";
import type { TargetFacts } from "./facts.ts";
import type { Goal } from "./goal.ts";
import type { Rollout } from "./rollout.ts";
import type { Direction, Target } from "./target.ts";
import type { WindowState } from "./windows.ts";

/** What a target is decided with, beside the facts about its asset. */
export interface TargetContext {
  readonly rollout: Pick<Rollout, "kind" | "state" | "wave" | "waveEnteredAtMs" | "strategy">;
  /** What its asset is to run, by the direction of the target. */
  readonly goals: Readonly<Record<Direction, Goal>>;
  /** Whether a deployment may begin on the asset now. */
  readonly window: WindowState;
}

/** What is to be done with a target. */
export type TargetDecision =
  | { readonly kind: "nothing" }
  /** Store these fields. */
  | { readonly kind: "change"; readonly fields: TargetFields }
  /** Begin an attempt, with the fields of `beginAttempt`, if it is admitted (see `admit`); otherwise store these fields. */
  | { readonly kind: "begin"; readonly otherwise: TargetFields }
  /** Request the deployment of the latest attempt, and store its id. Safe to repeat. */
  | { readonly kind: "request" };

/** What is known of a target only while its apps are up, or end again and again, after a deployment. */
export const NOT_SOAKING = { soakSinceMs: undefined, downSinceMs: undefined } as const;

/** A target, the facts about its asset, and the rest, at one moment. */
export interface Situation {
  readonly target: Target;
  readonly facts: TargetFacts;
  readonly context: TargetContext;
  readonly nowMs: number;
}

/**
 * Returns the decision that makes the target as `wanted`; fields that are not named stay. Without `dueMs` in `wanted`, the
 * target is not due any more. Without a reason to wait in `wanted`, it has none.
 */
export function become(target: Target, wanted: TargetFields, nowMs: number): TargetDecision {
  const fields = changedFields(target, wanted, nowMs);
  return Object.keys(fields).length === 0 ? { kind: "nothing" } : { kind: "change", fields };
}

/** Returns those fields of `become` that the target does not have yet. */
export function changedFields(target: Target, wanted: TargetFields, nowMs: number): TargetFields {
  const isNew = wanted.state !== undefined && wanted.state !== target.state;
  const complete: TargetFields = {
    waitsFor: undefined,
    dueMs: undefined,
    ...wanted,
    ...(isNew && { sinceMs: nowMs }),
  };
  const entries = Object.entries(complete).filter(([name, value]) => target[name as keyof Target] !== value);
  return Object.fromEntries(entries);
}
