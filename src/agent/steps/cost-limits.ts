import type { CostLimits } from "../core/image/pull-cost.ts";
import type { StepContext } from "./context.ts";

/** What the price of the deployment's image is held against. */
export function costLimitsOf({ config, record }: Pick<StepContext, "config" | "record">): CostLimits {
  return {
    maxImageBytes: config.policy.max_image_bytes,
    deviceMaxDownloadBytes: config.maxDownloadBytes,
    requestMaxDownloadBytes: record.options.max_download_bytes,
  };
}
