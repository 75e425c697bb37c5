import type { AppSpec } from "../../protocol/app-spec.ts";
import type { DeploymentRecord } from "./deployment.ts";
import { FREE } from "./image.ts";
import type { Progress, Step } from "./step.ts";

/**
 * The next step until the image is on the machine, the same for a first deployment and an update: check, find out what
 * the image is and what it costs, pull it. A dry run ends before the pull.
 */
export function nextForImage(record: DeploymentRecord, spec: AppSpec, { source, pullAttempts }: Progress): Step {
  const attempt = pullAttempts + 1;
  if (!record.checked) return { kind: "check", spec };
  if (record.imageId !== undefined) return { kind: "quote", spec, price: FREE };
  if (!source) return { kind: "resolve", spec, attempt };
  if (record.options.dry_run && source.kind === "registry") return { kind: "quote", spec, price: source.price };
  return { kind: "pull", spec, source, attempt };
}
