import type { z } from "zod";
import { unixNow } from "../../../lib/clock.ts";
import {
  type AssetHealth,
  assetHealthSchema,
  HEALTH_KEPT_S,
  healthQuerySchema,
  type HealthParams,
} from "../../../protocol/link/device-health.ts";
import { MAX_HISTORY_DAYS } from "../../../protocol/assets/connectivity.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import { invalidRequest } from "../../../protocol/errors/request-error.ts";
import type { Asset } from "../../core/asset.ts";
import { storedPoints } from "../../core/health-days.ts";
import { assetParams, findAsset } from "../asset-resource.ts";
import type { Api, ApiBase, ApiContext } from "../context.ts";
import { errors } from "../docs/responses.ts";
import { streamSignal } from "../stream-signal.ts";
import { jsonOrCsv, sendCsv, wantsCsv } from "./csv.ts";
import { appHealthTable, HEALTH_EXAMPLE, healthTable } from "./health-table.ts";
import { resolveHistoryRange } from "./range.ts";

/** `GET /v1/assets/{asset_id}/health`: how the device was, from the samples that it keeps, or from what it has sent. */
export function getHealth(api: Api, context: ApiContext<"accounts" | "queries">): void {
  api.get(
    "/v1/assets/:asset_id/health",
    {
      schema: {
        operationId: "getHealth",
        summary: "Health",
        description:
          "How the device was: the lowest value, the mean and the highest of what it samples every minute. A " +
          "connected device keeps rows of five minutes for 48 hours, and is queried about them; the service " +
          "keeps rows of 15 minutes for 14 days, and of an hour for 396 days. What its apps used is in rows " +
          "of 15 minutes on the device, and of an hour at the service. " +
          "As CSV a row for each point; with `apps`, for each app and point.",
        tags: ["History"],
        params: assetParams,
        querystring: healthQuerySchema,
        response: {
          200: jsonOrCsv("In columns, the oldest point first, or the table.", assetHealthSchema, HEALTH_EXAMPLE),
          ...errors("AssetNotFound", "DeviceNotReachable", "DeviceTooOld", "DeviceFailed"),
        },
      },
    },
    async (request, reply) => {
      const asset = await findAsset(context.store, request, request.params.asset_id);
      const health = await readHealth(context, asset, request.query, () => streamSignal(request, reply, context));
      if (!wantsCsv(request.query.format, request.headers.accept)) return health;
      return sendCsv(reply, request.query.apps ? appHealthTable(health) : healthTable(health));
    },
  );
}

/** @param signal aborts when the client is gone */
async function readHealth(
  context: ApiContext<"queries">,
  asset: Asset,
  query: z.output<typeof healthQuerySchema>,
  signal: () => AbortSignal,
): Promise<AssetHealth> {
  const { points, source, apps } = query;
  const now = unixNow(context.clock);
  const from = query.from ?? defaultFrom(query.to ?? now, now);
  const range = resolveHistoryRange({ ...query, from }, now, MAX_HISTORY_DAYS);
  const params = { ...range, points, ...(apps && { apps }) };
  const isOnDevice = params.from >= now - HEALTH_KEPT_S;
  if (source === "device" && params.to - params.from > HEALTH_KEPT_S)
    throw invalidRequest([{ path: "from", reason: "must be at most 48 hours before to, which a device keeps" }]);
  if (source === "service" || (source === undefined && !isOnDevice)) return readStored(context, asset, params);
  try {
    return { source: "device", ...(await context.queries.query(asset, "health", params, signal())) };
  } catch (error) {
    const isAway = error instanceof EdgeError && error.code === "DeviceNotReachable";
    if (source === "device" || !isAway) throw error;
    return readStored(context, asset, params);
  }
}

/** 48 hours before the end, which ends now at the latest. */
function defaultFrom(to: number, now: number): number {
  return Math.max(0, Math.min(to, now) - HEALTH_KEPT_S);
}

async function readStored({ store }: ApiBase, { uuid }: Asset, params: HealthParams): Promise<AssetHealth> {
  return { source: "service", ...storedPoints(await store.health.listRows(uuid, params), params) };
}
