import type { FastifyRequest } from "fastify";
import {
  type BulkTags,
  bulkTagsSchema,
  type BulkTagsResult,
  bulkTagsResultSchema,
} from "../../../protocol/assets/bulk.ts";
import type { Api, ApiBase } from "../context.ts";
import { errorsWithBody, json } from "../docs/responses.ts";
import { isPreconditionError, isTagList, preconditionOfTags, tagOf } from "../conditional-requests.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import { invalidRequest } from "../../../protocol/errors/request-error.ts";
import { findAsset } from "../asset-resource.ts";
import { bulkQuery, carryOutRows, RowFailure } from "./bulk-rows.ts";
import { changeTags, planTags, stateOfTags, toTagsResource } from "./tags.ts";

type Row = BulkTags["assets"][number];
type Fields = Partial<Pick<Done, "asset_id" | "tags" | "etag">>;
type Done = Extract<BulkTagsResult["results"][number], { status: "done" }>;

/** `POST /v1/bulk/tags`: changes the tags of many assets, each on its own. */
export function tagAssets(api: Api, context: ApiBase): void {
  api.post(
    "/v1/bulk/tags",
    {
      schema: {
        operationId: "tagAssets",
        summary: "Tag Assets",
        description:
          "Changes the tags of up to 200 assets, each as Update Tags or, with `replace`, Replace Tags does, whether or not the others " +
          "succeed. A row that is not valid refuses the request; one may have an `if_match` of its own.",
        tags: ["Assets"],
        querystring: bulkQuery,
        body: bulkTagsSchema,
        response: { 200: json("What became of each row.", bulkTagsResultSchema), ...errorsWithBody() },
      },
    },
    async (request): Promise<BulkTagsResult> => {
      const { assets: rows } = request.body;
      const issues = rows.flatMap(({ if_match: tag }, index) =>
        tag === undefined || isTagList(tag)
          ? []
          : [{ path: `assets[${index}].if_match`, reason: "must be `*`, or an `ETag` as its header has it" }],
      );
      if (issues.length > 0) throw invalidRequest(issues);
      const isDryRun = request.query.dry_run;
      const result = await carryOutRows<Row, Fields>(context, request, {
        rows,
        isDryRun,
        known: () => ({}),
        carryOut: (row) => tagAsset(context, request, row, isDryRun),
      });
      // Each status has its fields.
      return result as BulkTagsResult;
    },
  );
}

async function tagAsset(
  context: ApiBase,
  request: FastifyRequest,
  { asset_id: identifier, tags: changes, replace, if_match: sent }: Row,
  isDryRun: boolean,
): Promise<Fields> {
  const { store } = context;
  const asset = await findAsset(store, request, identifier);
  const { uuid } = asset;
  const precondition = preconditionOfTags(sent, (tags: ReadonlyMap<string, string>) => stateOfTags(uuid, tags));
  const read = async (): Promise<Fields> => fieldsOf(uuid, await store.assetSettings.readTags(uuid));
  try {
    if (isDryRun) {
      const before = await store.assetSettings.readTags(uuid);
      precondition?.(before);
      return fieldsOf(uuid, planTags(before, changes, replace));
    }
    await changeTags(context, request, asset, { changes, replace, precondition });
    return await read();
  } catch (error) {
    if (isPreconditionError(error)) throw new RowFailure(new EdgeError("PreconditionFailed"), await read());
    throw error instanceof EdgeError ? new RowFailure<Fields>(error, { asset_id: uuid }) : error;
  }
}

function fieldsOf(uuid: string, tags: ReadonlyMap<string, string>): Fields {
  const resource = toTagsResource(uuid, tags);
  return { asset_id: uuid, tags: resource.body, etag: tagOf(resource) };
}
