import { EdgeError } from "../../protocol/errors/errors.ts";
import { DEFAULT_STATS_INTERVAL_S, MAX_STATS_INTERVAL_S, MIN_STATS_INTERVAL_S } from "../../protocol/apps/app-stats.ts";
import { type AppStatsSource, readAppStats } from "../apps/app-stats.ts";
import { LocalError } from "./local-error.ts";
import { countFrom } from "./routes.ts";

/** Writes what the apps use: once, or with `follow` until the client disconnects. */
export async function followAppStats(
  query: URLSearchParams,
  source: AppStatsSource,
  write: (value: unknown) => void,
  signal: AbortSignal,
): Promise<void> {
  const intervalS = countFrom(query, "interval_s", DEFAULT_STATS_INTERVAL_S, MAX_STATS_INTERVAL_S);
  const request = {
    app: query.get("app") ?? undefined,
    follow: query.has("follow"),
    intervalMs: Math.max(MIN_STATS_INTERVAL_S, intervalS) * 1000,
  };
  try {
    for await (const stats of readAppStats(request, source, signal)) write(stats);
  } catch (error) {
    if (signal.aborted) return;
    throw error instanceof EdgeError ? toLocal(error) : error;
  }
}

function toLocal({ code, message }: EdgeError): LocalError {
  return code === "AppNotFound" ? new LocalError(404, code, message) : new LocalError(502, "EngineError", message);
}
