import { z } from "zod";
import { assetParams, findAsset } from "../asset-resource.ts";
import type { Api, ApiBase } from "../context.ts";
import { presenceFields, presenceOf } from "../device/presence.ts";
import { errors, json } from "../docs/responses.ts";
import { appSchema, toAppResponse } from "./app-resource.ts";

const listSchema = z
  .object({ apps: z.array(appSchema).meta({ description: "The apps, by name." }), ...presenceFields })
  .meta({ id: "AppList" });

/** `GET /v1/assets/{asset_id}/edge/apps`: the apps of a device as last reported. */
export function listApps(api: Api, context: ApiBase): void {
  api.get(
    "/v1/assets/:asset_id/edge/apps",
    {
      schema: {
        operationId: "listApps",
        summary: "Get Apps",
        description:
          "The apps on the asset's device, by name, as last reported; `age_s` is the age of the report. Values of " +
          "environments are masked. While `reported_at` is null, the device has never sent a report and the list is empty.",
        tags: ["Apps"],
        params: assetParams,
        response: { 200: json("By name.", listSchema), ...errors("AssetNotFound") },
      },
    },
    async (request) => {
      const asset = await findAsset(context.store, request, request.params.asset_id);
      const session = await context.store.sessions.find(asset.uuid);
      const report = await context.store.devices.findReport(asset.uuid);
      const owners = await context.store.fleets.listOwners(asset.uuid);
      const presence = presenceOf(context, session, {
        at: report?.at,
        heldSince: report?.heldSince,
        isPushed: true,
      });
      return { apps: report?.value.apps.map((app) => toAppResponse(app, owners)) ?? [], ...presence };
    },
  );
}
