import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { TrialWatchOptions } from "./trial-watch.ts";

/**
 * Returns the daemon's part that watches a trial of a release. On a device with neither a trial nor a release that was set
 * aside, which is nearly always, it loads nothing and ends at once.
 */
export function watchTrial(options: TrialWatchOptions): { run(signal: AbortSignal): Promise<void> } {
  return {
    async run(signal) {
      if (!isDue(options.versions.releasesFolder)) return;
      const { TrialWatch } = await import("./trial-watch.ts");
      await new TrialWatch(options).run(signal);
    },
  };
}

function isDue(folder: string): boolean {
  if (existsSync(join(folder, "trial"))) return true;
  try {
    return readdirSync(join(folder, "set-aside")).length > 0;
  } catch {
    return false;
  }
}
