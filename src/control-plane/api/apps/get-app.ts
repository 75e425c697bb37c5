import type { FastifyReply, FastifyRequest } from "fastify";
import { unixNow } from "../../../lib/clock.ts";
import { z } from "zod";
import { reachedAs } from "../../../protocol/apps/app-network.ts";
import type { AppReport } from "../../../protocol/apps/app-report.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import type { Asset } from "../../core/asset.ts";
import { maskDeclaredSecrets } from "../../core/mask-spec.ts";
import { findAsset } from "../asset-resource.ts";
import { principalFields } from "../../accounts/principal.ts";
import { principalOf } from "../auth.ts";
import type { Api, ApiContext } from "../context.ts";
import { presenceFields, presenceOf } from "../device/presence.ts";
import { errors, json } from "../docs/responses.ts";
import { streamSignal } from "../stream-signal.ts";
import { appParams, appSchema, toAppResponse } from "./app-resource.ts";

const query = z.strictObject({
  reveal: z
    .literal("environments")
    .optional()
    .meta({
      description:
        "Includes the values of the environment, queried from the device, which alone stores them. Declared secrets stay " +
        "masked.",
    }),
});

const schema = appSchema
  .extend({
    reached_as: z.array(z.string()).meta({
      description:
        "What other apps of the device, on the same network, reach it as: its name, with each container port of `ports`. " +
        "Empty for an app on the device's network or without one.",
      examples: [["mosquitto:1883"]],
    }),
    ...presenceFields,
  })
  .meta({ id: "AppDetails" });

/** `GET /v1/assets/{asset_id}/edge/apps/{name}`: one app, as last reported or queried from the device. */
export function getApp(api: Api, context: ApiContext<"accounts" | "queries">): void {
  api.get(
    "/v1/assets/:asset_id/edge/apps/:name",
    {
      schema: {
        operationId: "getApp",
        summary: "App Details",
        description:
          "One app of the asset's device as last reported; `age_s` is the age of the report. With " +
          "`reveal=environments` the device is queried, and must be connected.",
        tags: ["Apps"],
        params: appParams,
        querystring: query,
        response: {
          200: json("The app.", schema),
          ...errors(
            "AssetNotFound",
            "AppNotFound",
            "DeviceTooOld",
            "DeviceNotReachable",
            "EngineUnavailable",
            "DeviceFailed",
          ),
        },
      },
    },
    async (request, reply) => {
      const { asset_id, name } = request.params;
      const asset = await findAsset(context.store, request, asset_id);
      const session = await context.store.sessions.find(asset.uuid);
      if (request.query.reveal) return revealApp(context, request, reply, asset, name);
      const report = await context.store.devices.findReport(asset.uuid);
      const app = report?.value.apps.find((each) => each.name === name);
      if (!report || !app) throw appNotFound(report?.at);
      const { at, heldSince } = report;
      return {
        ...toAppResponse(app, await context.store.fleets.listOwners(asset.uuid)),
        reached_as: reachedAsOf(app),
        ...presenceOf(context, session, { at, heldSince, isPushed: true }),
      };
    },
  );
}

async function revealApp(
  context: ApiContext<"accounts" | "queries">,
  request: FastifyRequest,
  reply: FastifyReply,
  asset: Asset,
  name: string,
): Promise<z.output<typeof schema>> {
  const { queries, store, clock, logger } = context;
  const signal = streamSignal(request, reply, context);
  const { app, spec } = await queries.query(asset, "app", { app: name, reveal: true }, signal);
  if (!spec) throw new EdgeError("DeviceFailed", "The device did not return the app's environment.");
  logger.info({ asset: asset.uuid, app: name, ...principalFields(principalOf(request)) }, "environment revealed");
  const at = unixNow(clock);
  const session = await store.sessions.find(asset.uuid);
  return {
    ...toAppResponse({ ...app, spec: maskDeclaredSecrets(spec) }, await store.fleets.listOwners(asset.uuid)),
    reached_as: reachedAsOf(app),
    ...presenceOf(context, session, { at, isPushed: true }),
  };
}

function reachedAsOf(app: AppReport): string[] {
  const { network, host_network, project, aliases } = app.spec;
  return reachedAs({
    name: app.name,
    host_network: host_network === true,
    ports: toAppResponse(app, []).ports,
    ...(typeof network === "string" && { network }),
    ...(typeof project === "string" && { project }),
    ...(Array.isArray(aliases) && { aliases: aliases.filter((alias) => typeof alias === "string") }),
  });
}

function appNotFound(reportedAt: number | undefined): EdgeError {
  if (reportedAt !== undefined) return new EdgeError("AppNotFound", undefined, { reported_at: reportedAt });
  return new EdgeError(
    "AppNotFound",
    "The device has not reported its apps yet, so it is not known whether it has this one.",
  );
}
