import type { ErrorCode } from "../../../protocol/errors.ts";
import type { WaitReason } from "../../../protocol/rollout.ts";
import { supports } from "../../../protocol/features.ts";
import type { TargetFacts } from "./facts.ts";
import { type Goal, removesApps } from "./goal.ts";
import type { Situation } from "./target-decision.ts";
import type { Readiness } from "./waves.ts";

/** The protocol version with removals in an apply. */
export const REMOVAL_PROTOCOL = 4;

/** Why an attempt cannot begin now. */
export interface Obstacle {
  readonly waitsFor: WaitReason;
  readonly message: string;
  /** When it is gone at the latest; `undefined`: something has to happen. */
  readonly endsAtMs: number | undefined;
  /** Since when it is there, as far as that is not only known since the target waits. */
  readonly sinceMs?: number | undefined;
}

/** Why an attempt on the asset would make no sense, also later. */
export interface Impossibility {
  readonly code: ErrorCode;
  readonly message: string;
}

/** What only people end. */
export const NEEDS_PEOPLE: ReadonlySet<WaitReason> = new Set<WaitReason>([
  "hold",
  "conflict",
  "variable",
  "acceptance",
]);

/** Time after which an attempt that had to wait for another rollout is tried again, in milliseconds. */
const OTHER_ATTEMPT_PAUSE_MS = 60_000;

/** What is known of an asset before something is deployed there. */
export type AssetFacts = Pick<
  TargetFacts,
  | "isConnected"
  | "protocol"
  | "lastSeenAtMs"
  | "heldUntilMs"
  | "unacceptedSinceMs"
  | "conflicts"
  | "isBusy"
  | "missingVariables"
>;

/** Returns why the device cannot get the goal at all; `undefined` if it can. */
export function findImpossibility(goal: Goal, { protocol }: Pick<AssetFacts, "protocol">): Impossibility | undefined {
  // A device that was never there may be any.
  if (protocol === undefined) return undefined;
  const mustRemove = removesApps(goal);
  if (supports(protocol, "apply") && (!mustRemove || protocol >= REMOVAL_PROTOCOL)) return undefined;
  const what = mustRemove ? "remove apps in a rollout" : "take part in rollouts";
  return { code: "DeviceTooOld", message: `The agent on the device is too old to ${what}; update edge-agent.` };
}

/**
 * Returns why an attempt cannot begin on the asset now, apart from windows; `undefined` if it can. What people have to end comes
 * first.
 */
export function findAssetObstacle(facts: AssetFacts, nowMs: number): Obstacle | undefined {
  const { heldUntilMs, conflicts, lastSeenAtMs, unacceptedSinceMs, missingVariables } = facts;
  if (heldUntilMs !== undefined && heldUntilMs > nowMs) {
    const endsAtMs = Number.isFinite(heldUntilMs) ? heldUntilMs : undefined;
    return { waitsFor: "hold", message: "The asset is held: only people's own commands reach it.", endsAtMs };
  }
  const [conflict] = conflicts;
  if (conflict !== undefined) {
    const message = `The app ${conflict.app} on this asset belongs to the fleet ${conflict.fleet}.`;
    return { waitsFor: "conflict", message, endsAtMs: undefined };
  }
  if (lastSeenAtMs === undefined && !facts.isConnected) {
    return { waitsFor: "connection", message: "The device has never connected.", endsAtMs: undefined, sinceMs: 0 };
  }
  if (missingVariables.length > 0) {
    const message = `The asset lacks variables that the revision needs: ${missingVariables.join(", ")}.`;
    return { waitsFor: "variable", message, endsAtMs: undefined };
  }
  if (!facts.isConnected) {
    const message = "The device is not connected.";
    return { waitsFor: "connection", message, endsAtMs: undefined, sinceMs: lastSeenAtMs ?? 0 };
  }
  if (unacceptedSinceMs !== undefined) {
    const message = "The device is not accepted yet.";
    return { waitsFor: "acceptance", message, endsAtMs: undefined, sinceMs: unacceptedSinceMs };
  }
  if (!facts.isBusy) return undefined;
  const message = "Another deployment of a fleet is still under way on it.";
  return { waitsFor: "deployment", message, endsAtMs: nowMs + OTHER_ATTEMPT_PAUSE_MS };
}

/** Returns how soon an asset is drawn into a wave. */
export function readinessOf(goal: Goal, facts: AssetFacts, nowMs: number): Readiness {
  const obstacle = findAssetObstacle(facts, nowMs);
  if (findImpossibility(goal, facts) || (obstacle && NEEDS_PEOPLE.has(obstacle.waitsFor))) return "blocked";
  return obstacle ? "away" : "ready";
}

/** Returns why an attempt cannot begin now; `undefined` if it can. Windows are for what is new: going back does not wait. */
export function findObstacle(situation: Situation): Obstacle | undefined {
  const obstacle = findAssetObstacle(situation.facts, situation.nowMs);
  return obstacle ?? (situation.target.direction === "back" ? undefined : closedWindow(situation));
}

function closedWindow({ context: { window } }: Situation): Obstacle | undefined {
  switch (window.kind) {
    case "open":
      return undefined;
    case "closed":
      return { waitsFor: "window", message: "It begins in the next window.", endsAtMs: window.opensAtMs };
    case "unknown_zone": {
      const message = "The windows are in the device's own time, and its zone is not known.";
      return { waitsFor: "clock", message, endsAtMs: window.opensAtMs };
    }
  }
}
