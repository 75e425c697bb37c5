import { unixNow } from "../../../lib/clock.ts";
import {
  type DeviceHealth,
  deviceHealthSchema,
  HEALTH_KEPT_S,
  healthQuerySchema,
} from "../../../protocol/link/device-health.ts";
import { invalidRequest } from "../../../protocol/errors/request-error.ts";
import { assetParams, findAsset } from "../asset-resource.ts";
import type { Api, ApiContext } from "../context.ts";
import { errors, json } from "../docs/responses.ts";
import { streamSignal } from "../stream-signal.ts";

/** `GET /v1/assets/{asset_id}/health`: how the device was, from the samples that it keeps. */
export function getHealth(api: Api, context: ApiContext): void {
  api.get(
    "/v1/assets/:asset_id/health",
    {
      schema: {
        operationId: "getHealth",
        summary: "Health",
        description:
          "How the device was in the last 48 hours: the lowest value, the mean and the highest of what it samples every minute. The " +
          "device is queried; nothing of the answer is stored. Gaps are gaps: there is no point where the device has no samples.",
        tags: ["History"],
        params: assetParams,
        querystring: healthQuerySchema,
        response: {
          200: json("In columns, the oldest point first.", deviceHealthSchema),
          ...errors("AssetNotFound", "DeviceNotReachable", "DeviceTooOld", "DeviceFailed"),
        },
      },
    },
    async (request, reply): Promise<DeviceHealth> => {
      const { points } = request.query;
      const asset = await findAsset(context.store, request, request.params.asset_id);
      const now = unixNow(context.clock);
      const to = Math.min(request.query.to ?? now, now);
      const from = request.query.from ?? Math.max(0, to - HEALTH_KEPT_S);
      if (from >= to) throw invalidRequest([{ path: "from", reason: "must be before to, and before now" }]);
      if (to - from > HEALTH_KEPT_S)
        throw invalidRequest([{ path: "from", reason: "must be at most 48 hours before to" }]);
      return context.queries.query(asset, "health", { from, to, points }, streamSignal(request, reply, context));
    },
  );
}
