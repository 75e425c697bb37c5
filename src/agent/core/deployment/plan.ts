import type { AppRecord, DeploymentRecord } from "../records.ts";
import { nextDeployStep } from "./plan-deploy.ts";
import { nextRemoveStep, nextStartStep, nextStopStep } from "./plan-lifecycle.ts";
import { nextUpdateStep } from "./plan-update.ts";
import type { Observed, RunProgress, Step } from "./step.ts";
import { nextRollbackStep } from "./rollback.ts";

/**
 * Returns the next step of a deployment, or `undefined` when it has ended. The decision is based on what exists, not on
 * the last step, so it is the same after a power cut. After a failure the rollback comes first; the failure is reported
 * last.
 *
 * @param installed the stored record of the app
 */
export function nextStep(
  record: DeploymentRecord,
  observed: Observed,
  progress: RunProgress,
  installed: AppRecord | undefined,
): Step | undefined {
  if (record.outcome !== "pending") return undefined;
  if (record.failure) return nextRollbackStep(record, record.failure, observed, progress, installed);
  const { spec, previous } = record;
  if (!spec) throw new Error("a deployment without a specification must have a failure");
  if (record.action === "deploy") return nextDeployStep(record, spec, observed, progress);
  if (!previous) throw new Error("a change of an app must know the app");
  switch (record.action) {
    case "update":
      return nextUpdateStep(record, spec, previous, observed, progress);
    case "remove":
      return nextRemoveStep(observed);
    case "stop":
      return nextStopStep(previous, observed);
    case "start":
    case "restart":
      return nextStartStep(record.action, previous, observed, progress);
    case "apply":
      throw new Error("a group of apps has no steps of its own");
    case "update_agent":
      throw new Error("an update of the agent has no steps of an app");
  }
}
