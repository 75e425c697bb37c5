import type { AppStats, StatsParams } from "../../protocol/apps/app-stats.ts";
import { type AppStatsSource, readAppStats } from "../apps/app-stats.ts";

/**
 * Sends what the apps use: once, or at intervals until the signal aborts. The next measurement begins when the one before
 * has left. Resolves with a message if it ended because the app was removed. Errors: `EdgeError` as from `readAppStats`.
 */
export async function sendAppStats(
  { app, follow, interval_s }: StatsParams,
  source: AppStatsSource,
  send: (stats: AppStats) => Promise<unknown>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const measured = readAppStats({ app, follow, intervalMs: interval_s * 1000 }, source, signal);
  for (;;) {
    const next = await measured.next();
    if (next.done) return next.value === "removed" ? "The app was removed." : undefined;
    await send(next.value);
  }
}
