import type { PriceBounds } from "../core/price.ts";
import type { StepContext } from "./context.ts";

/** What the price of the deployment's image is held against. */
export function boundsOf({ config, record }: Pick<StepContext, "config" | "record">): PriceBounds {
  return {
    maxImageBytes: config.policy.max_image_bytes,
    deviceMaxDownloadBytes: config.maxDownloadBytes,
    requestMaxDownloadBytes: record.options.max_download_bytes,
  };
}
