import type { AppSpec } from "../../../protocol/apps/app-spec.ts";
import type { DeploymentRecord } from "../records.ts";
import { NO_COST } from "../image/image.ts";
import { withFiles } from "../image/pull-cost.ts";
import type { RunProgress, Step } from "./step.ts";

/**
 * Returns the next step until the image and the files are on the device, for a first deployment and an update alike: check, resolve
 * the image and its cost, fetch the contents of files, pull the image. A dry run ends before the first download.
 */
export function nextImageStep(record: DeploymentRecord, spec: AppSpec, progress: RunProgress): Step {
  const { source, present, pullAttempts, imageCheck } = progress;
  const { imageId, fetches = [], options } = record;
  const attempt = pullAttempts + 1;
  if (!record.checked) return { kind: "check", spec };
  if (imageId !== undefined) {
    if (fetches.length > 0 && !options.dry_run) return { kind: "fetch" };
    return { kind: "report_cost", cost: withFiles(NO_COST, fetches), imageCheck };
  }
  // After a failed pull, or a restart, what the check found may have changed.
  if (!source) return { kind: "resolve", spec, attempt, ...(attempt === 1 && present !== undefined && { present }) };
  if (options.dry_run && source.kind === "registry")
    return { kind: "report_cost", cost: withFiles(source.cost, fetches) };
  // First what is small: if it cannot be had, the image is not paid for.
  if (fetches.length > 0 && !options.dry_run) return { kind: "fetch" };
  return { kind: "pull", spec, source, attempt };
}
