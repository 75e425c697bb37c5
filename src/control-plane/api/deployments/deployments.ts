import { z } from "zod";
import { DEFAULT_PAGE_SIZE } from "../../../protocol/limits.ts";
import { cursorSchema, pageSizeSchema, integerString, MAX_UNIX_SECONDS } from "../../../protocol/values/scalars.ts";
import {
  decodeDeploymentCursor,
  encodeDeploymentCursor,
  decodeDeploymentListCursor,
  encodeDeploymentListCursor,
} from "../../core/cursor.ts";
import { assetParams, findAsset } from "../asset-resource.ts";
import type { Api, ApiBase } from "../context.ts";
import { errors, json } from "../docs/responses.ts";
import {
  deploymentListSchema,
  toDeploymentResponse,
  accountDeploymentListSchema,
  deploymentParams,
  deploymentSchema,
  findDeployment,
} from "./deployment-resource.ts";
import { deploymentStatusSchema } from "../../../protocol/deployments/deployment-event.ts";
import { selectorSchema } from "../../../protocol/fleets/selector.ts";
import { invalidRequest } from "../../../protocol/errors/request-error.ts";
import { pageQuerySchema } from "../../../protocol/people/users.ts";
import { termsOfSelector } from "../../core/selector-terms.ts";
import { MAX_SCANNED } from "../../store/deployment-lists.ts";
import { accountOf } from "../auth.ts";

const assetQuery = z.strictObject({
  limit: pageSizeSchema.optional(),
  cursor: cursorSchema.optional(),
});

/** `GET /v1/assets/{asset_id}/edge/deployments`: the asset's deployments, newest first. */
export function listDeployments(api: Api, { store }: ApiBase): void {
  api.get(
    "/v1/assets/:asset_id/edge/deployments",
    {
      schema: {
        operationId: "listDeployments",
        summary: "Get Deployments",
        description: "The deployments of one asset, newest first. Those of the whole account are at `/v1/deployments`.",
        tags: ["Deployments"],
        params: assetParams,
        querystring: assetQuery,
        response: { 200: json("Newest first.", deploymentListSchema), ...errors("AssetNotFound") },
      },
    },
    async (request) => {
      const { limit = DEFAULT_PAGE_SIZE, cursor } = request.query;
      const asset = await findAsset(store, request, request.params.asset_id);
      const after = cursor === undefined ? undefined : decodeDeploymentCursor(cursor);
      const page = await store.deployments.listDeployments(asset.uuid, limit, after);
      return {
        deployments: page.deployments.map(toDeploymentResponse),
        next_cursor: page.next ? encodeDeploymentCursor(page.next) : null,
      };
    },
  );
}

const accountQuery = pageQuerySchema.extend({
  status: deploymentStatusSchema.optional().meta({ description: "Only deployments with this status." }),
  app: z.string().min(1).max(64).optional().meta({ description: "Only those of this app, or of this project." }),
  selector: selectorSchema.optional().meta({ description: "Only those of assets that match it now." }),
  since: integerString(0, MAX_UNIX_SECONDS)
    .optional()
    .meta({ description: "Only those that were requested at this time or later. Unix seconds." }),
  updated_since: integerString(0, MAX_UNIX_SECONDS)
    .optional()
    .meta({
      description:
        "Only those that were requested or have ended at this time or later, in the order of that, the oldest first. Unix " +
        "seconds. Not together with `since`.",
    }),
});

/** `GET /v1/deployments`: the deployments of all assets of the account. */
export function listAccountDeployments(api: Api, { store }: ApiBase): void {
  api.get(
    "/v1/deployments",
    {
      schema: {
        operationId: "listAccountDeployments",
        summary: "Get Deployments of Account",
        description:
          "The deployments of the account, newest first, also of assets that have been removed since. To follow them, ask with " +
          "`updated_since`, go on with `next_cursor` until it is null, and begin again from the latest `created_at` or " +
          "`finished_at`: a deployment is listed when it is requested, and again when it has ended. A page looks at " +
          `${MAX_SCANNED} deployments at most.`,
        tags: ["Deployments"],
        querystring: accountQuery,
        response: { 200: json("One page of deployments.", accountDeploymentListSchema), ...errors() },
      },
    },
    async (request) => {
      const { limit = DEFAULT_PAGE_SIZE, cursor, status, app, selector, since, updated_since: updated } = request.query;
      if (since !== undefined && updated !== undefined)
        throw invalidRequest([{ path: "updated_since", reason: "cannot be combined with since" }]);
      const order = updated === undefined ? "created" : "changed";
      const from = updated ?? since;
      const filter = {
        status,
        app,
        selector: selector === undefined ? undefined : termsOfSelector(selector),
        sinceMs: from === undefined ? undefined : from * 1000,
      };
      const after = cursor === undefined ? undefined : decodeDeploymentListCursor(order, cursor);
      const page = await store.deploymentLists.listOfAccount(accountOf(request), order, filter, limit, after);
      return {
        deployments: page.deployments.map(toDeploymentResponse),
        next_cursor: page.next ? encodeDeploymentListCursor(order, page.next) : null,
      };
    },
  );
}

/** `GET /v1/assets/{asset_id}/edge/deployments/{deployment_id}`: the record of one deployment. */
export function getDeployment(api: Api, { store }: ApiBase): void {
  api.get(
    "/v1/assets/:asset_id/edge/deployments/:deployment_id",
    {
      schema: {
        operationId: "getDeployment",
        summary: "Deployment Details",
        description:
          "What it does to which app, and how it ended. Its events, with what a failure says in `details`, are in its stream, and who " +
          "requested it is in the audit log.",
        tags: ["Deployments"],
        params: deploymentParams,
        response: {
          200: json("The record of the deployment.", deploymentSchema),
          ...errors("AssetNotFound", "DeploymentNotFound"),
        },
      },
    },
    async (request) => toDeploymentResponse(await findDeployment(store, request)),
  );
}
