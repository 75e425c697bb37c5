import { ATTENTION_REASONS, type Overview, overviewSchema } from "../../../protocol/assets/attention.ts";
import { stateTime } from "../asset-resource.ts";
import { accountOf } from "../auth.ts";
import type { Api, ApiBase } from "../context.ts";
import { errors, json } from "../docs/responses.ts";

/** How long counts are used again, and of how many accounts. */
const FRESH_MS = 1_000;
const MAX_KEPT_ACCOUNTS = 1_000;

interface Kept {
  readonly atMs: number;
  readonly overview: Promise<Overview>;
}

/** `GET /v1/overview`: how many assets of the account there are of each kind. */
export function getOverview(api: Api, context: ApiBase): void {
  const { clock } = context;
  const kept = new Map<string, Kept>();
  const overviewOf = (accountId: string): Promise<Overview> => {
    const found = kept.get(accountId);
    const nowMs = clock.monotonic();
    if (found && nowMs - found.atMs < FRESH_MS) return found.overview;
    const overview = count(context, accountId);
    // The caller gets the error; the next one counts again.
    overview.catch(() => kept.delete(accountId));
    if (kept.size >= MAX_KEPT_ACCOUNTS) kept.clear();
    kept.set(accountId, { atMs: nowMs, overview });
    return overview;
  };
  api.get(
    "/v1/overview",
    {
      schema: {
        operationId: "getOverview",
        summary: "Get Overview",
        description: "How many assets are connected, and how many need attention and why. At most a second old.",
        tags: ["Assets"],
        response: { 200: json("The counts.", overviewSchema), ...errors() },
      },
    },
    (request) => overviewOf(accountOf(request)),
  );
}

async function count(context: ApiBase, accountId: string): Promise<Overview> {
  const time = stateTime(context);
  const counts = await context.store.assets.countAssets(accountId, time);
  const { all, connected, neverConnected, attention, reasons, runningDeployments } = counts;
  return {
    as_of: time.now,
    assets: all,
    connected,
    not_connected: Math.max(0, all - connected - neverConnected),
    never_connected: neverConnected,
    attention,
    reasons: Object.fromEntries(
      ATTENTION_REASONS.map((reason) => [reason, reasons[reason] ?? 0]),
    ) as Overview["reasons"],
    deployments_running: runningDeployments,
  };
}
