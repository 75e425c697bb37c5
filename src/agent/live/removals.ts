import { type AppRemoval, MAX_REPORTED_REMOVALS } from "../../protocol/apps/app-report.ts";
import type { HistoryEntry } from "../store/history.ts";

/**
 * Returns the apps that are not installed since a client or a technician has removed them, the newest first. What a deployment of
 * several apps has done to an app since then counts too: such as a removal by its fleet.
 *
 * @param history the oldest first
 */
export function removalsOf(history: readonly HistoryEntry[], installed: ReadonlySet<string>): AppRemoval[] {
  const removals: AppRemoval[] = [];
  const seen = new Set(installed);
  for (const entry of history.toReversed()) {
    if (entry.kind !== "deployment" || entry.dry_run) continue;
    const final = entry.events.at(-1);
    if (!final || final.status === "Running") continue;
    const name = entry.app.slice(0, MAX_NAME_LENGTH);
    if (entry.action === "remove" && final.status === "Success" && !seen.has(name)) {
      const by = entry.origin === "local" ? "local" : "api";
      removals.push({ name, by, ...(final.at !== null && { since: final.at }) });
    }
    seen.add(name);
    for (const { app } of entry.events) if (app !== undefined) seen.add(app);
  }
  return removals.slice(0, MAX_REPORTED_REMOVALS);
}

const MAX_NAME_LENGTH = 64;
