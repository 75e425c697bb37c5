import type { DeploymentRecord } from "../deployment/record.ts";
import type { Step } from "../deployment/step.ts";
import type { GroupPhase } from "./next-group-actions.ts";

/**
 * Whether the deployment of an app may take this step in this phase of its group. Before the last one nothing may change
 * what is on the device, except that images are added. A deployment that has failed may always go back.
 */
export function isPermitted(step: Step, phase: GroupPhase, { failure }: Pick<DeploymentRecord, "failure">): boolean {
  if (phase === "run" || failure) return true;
  if (step.kind === "succeed") return step.result === "unchanged";
  if (step.kind === "pull") return phase === "pull";
  return step.kind === "check" || step.kind === "resolve" || step.kind === "fail";
}
