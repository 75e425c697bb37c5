import type { ErrorCode } from "../../../protocol/errors.ts";
import type { WaitReason } from "../../../protocol/rollout.ts";
import { supports } from "../../../protocol/features.ts";
import { removesApps } from "./goal.ts";
import type { Situation } from "./target-decision.ts";

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

/** Time after which an attempt that had to wait for another rollout is tried again, in milliseconds. */
const OTHER_ATTEMPT_PAUSE_MS = 60_000;

/** Returns why the device cannot get the goal at all; `undefined` if it can. */
export function findImpossibility({ target, facts, context }: Situation): Impossibility | undefined {
  const { protocol, missingVariables } = facts;
  // A device that was never there may be any.
  if (protocol !== undefined) {
    const mustRemove = removesApps(context.goals[target.direction]);
    if (!supports(protocol, "apply") || (mustRemove && protocol < REMOVAL_PROTOCOL)) {
      const what = mustRemove ? "remove apps in a rollout" : "take part in rollouts";
      return { code: "DeviceTooOld", message: `The agent on the device is too old to ${what}; update edge-agent.` };
    }
  }
  if (missingVariables.length === 0) return undefined;
  const names = missingVariables.join(", ");
  return { code: "InvalidRequest", message: `The asset lacks variables that the revision needs: ${names}.` };
}

/**
 * Returns why an attempt cannot begin now; `undefined` if it can. Windows are for what is new: going back does not wait for
 * them.
 */
export function findObstacle(situation: Situation): Obstacle | undefined {
  const { facts, nowMs } = situation;
  const { heldUntilMs, conflicts, lastSeenAtMs, unacceptedSinceMs } = facts;
  if (heldUntilMs !== undefined && heldUntilMs > nowMs) {
    const endsAtMs = Number.isFinite(heldUntilMs) ? heldUntilMs : undefined;
    return { waitsFor: "hold", message: "The asset is held: only people's own commands reach it.", endsAtMs };
  }
  const [conflict] = conflicts;
  if (conflict !== undefined) {
    const message = `The app ${conflict.app} on this asset belongs to the fleet ${conflict.fleet}.`;
    return { waitsFor: "conflict", message, endsAtMs: undefined };
  }
  if (!facts.isConnected) {
    const message = lastSeenAtMs === undefined ? "The device has never connected." : "The device is not connected.";
    return { waitsFor: "connection", message, endsAtMs: undefined, sinceMs: lastSeenAtMs ?? 0 };
  }
  if (unacceptedSinceMs !== undefined) {
    const message = "Nobody has accepted the device yet.";
    return { waitsFor: "acceptance", message, endsAtMs: undefined, sinceMs: unacceptedSinceMs };
  }
  if (facts.isBusy) {
    const message = "A deployment of another rollout of the fleet is still under way.";
    return { waitsFor: "conflict", message, endsAtMs: nowMs + OTHER_ATTEMPT_PAUSE_MS };
  }
  return situation.target.direction === "back" ? undefined : closedWindow(situation);
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
