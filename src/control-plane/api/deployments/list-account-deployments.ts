import { z } from "zod";
import { deploymentStatusSchema } from "../../../protocol/deployments/deployment-event.ts";
import { integerString, MAX_UNIX_SECONDS } from "../../../protocol/values/scalars.ts";
import { selectorSchema } from "../../../protocol/fleets/selector.ts";
import { invalidRequest } from "../../../protocol/errors/request-error.ts";
import { DEFAULT_PAGE_SIZE } from "../../../protocol/limits.ts";
import { pageQuerySchema } from "../../../protocol/people/users.ts";
import { termsOfSelector } from "../../core/selector-terms.ts";
import { decodeDeploymentListCursor, encodeDeploymentListCursor } from "../../core/cursor.ts";
import { MAX_SCANNED } from "../../store/deployment-lists.ts";
import { accountOf } from "../auth.ts";
import type { Api, ApiBase } from "../context.ts";
import { errors, json } from "../docs/responses.ts";
import { accountDeploymentListSchema, toDeploymentResponse } from "./deployment-resource.ts";

const query = pageQuerySchema.extend({
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
        querystring: query,
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
