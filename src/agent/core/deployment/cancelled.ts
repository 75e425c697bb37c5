import type { ControlFrame } from "../../../protocol/link/frames.ts";
import type { Failure } from "../records.ts";

export type CancelReason = Extract<ControlFrame, { type: "cancel" }>["reason"];

const MESSAGES: Readonly<Record<CancelReason, string>> = {
  requested: "The deployment was cancelled.",
  timeout: "The deployment was cancelled because it did not end in time.",
  not_reachable: "The deployment was cancelled because it had been reported as not reachable.",
  unknown: "The deployment was cancelled by the control plane.",
};

/** Returns the failure of a deployment that is cancelled. */
export function cancelledBecause(reason: CancelReason): Failure {
  return { code: "DeploymentCancelled", message: MESSAGES[reason], step: "done" };
}
