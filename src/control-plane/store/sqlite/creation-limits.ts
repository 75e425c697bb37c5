import type { Deployment } from "../../core/deployment.ts";
import type { CreateResult, CreationLimits } from "../deployments.ts";

/** What a new deployment depends on. */
export interface BeforeCreation {
  /** Size of the account's deployments. */
  readonly bytes: number | null;
  /** Number of unfinished deployments of the asset. */
  readonly running: number;
  readonly holder: string | null;
}

/** Returns why the limits refuse a new deployment; `undefined` if they do not. */
export function refusal(
  { spec }: Deployment,
  { bytes, running }: BeforeCreation,
  limits: CreationLimits,
): CreateResult | undefined {
  const usedBytes = bytes ?? 0;
  if (usedBytes + Buffer.byteLength(JSON.stringify(spec)) > limits.maxAccountBytes)
    return { kind: "quota_exceeded", usedBytes };
  return running >= limits.maxRunningPerAsset ? { kind: "too_many_running" } : undefined;
}
