import type { Cleaner } from "../cleanup/cleaner.ts";
import { EngineError } from "../engine/engine-error.ts";
import type { CleanupResponse } from "./api.ts";
import { LocalError } from "./local-error.ts";
import type { LocalRequest } from "./routes.ts";

/** Removes images that no app needs, or with `dry_run` says which. `all`: also those not needed for a short time only. */
export async function runCleanup(
  cleaner: Pick<Cleaner, "round">,
  { query, signal }: LocalRequest,
): Promise<CleanupResponse> {
  const dryRun = query.has("dry_run");
  try {
    const { removed, kept, freedBytes } = await cleaner.round({ dryRun, all: query.has("all") }, signal);
    return { dry_run: dryRun, removed: [...removed], kept: [...kept], freed_bytes: freedBytes };
  } catch (error) {
    throw error instanceof EngineError ? new LocalError(502, "EngineError", error.message) : error;
  }
}
