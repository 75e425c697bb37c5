import type { AppSpec } from "../../../protocol/apps/app-spec.ts";
import type { DeploymentRecord } from "../records.ts";
import { NO_COST } from "../image/image.ts";
import type { RunProgress, Step } from "./step.ts";

/**
 * Returns the next step until the image is on the device, for a first deployment and an update alike: check, resolve
 * the image and its cost, pull it. A dry run ends before the pull.
 */
export function nextImageStep(record: DeploymentRecord, spec: AppSpec, progress: RunProgress): Step {
  const { source, present, pullAttempts, imageCheck } = progress;
  const attempt = pullAttempts + 1;
  if (!record.checked) return { kind: "check", spec };
  if (record.imageId !== undefined) return { kind: "report_cost", cost: NO_COST, imageCheck };
  // After a failed pull, or a restart, what the check found may have changed.
  if (!source) return { kind: "resolve", spec, attempt, ...(attempt === 1 && present !== undefined && { present }) };
  if (record.options.dry_run && source.kind === "registry") return { kind: "report_cost", cost: source.cost };
  return { kind: "pull", spec, source, attempt };
}
