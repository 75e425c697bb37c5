import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { invalidRequest } from "../../../protocol/request-error.ts";
import { MAX_TAGS, type Tags, tagsSchema, tagsUpdateSchema } from "../../../protocol/tags.ts";
import type { Api, ApiContext } from "../context.ts";
import { errors, errorsWithBody, json } from "../docs/responses.ts";
import { auditOf } from "../people/audit-entry.ts";
import { assetParams, findAsset } from "../asset-resource.ts";
import { requireSettingsChange } from "./settings-change.ts";

const PATH = "/v1/assets/:asset_id/tags";
const DOCS = { tags: ["Assets"], params: assetParams };

type TagsRequest = FastifyRequest<{ Params: { asset_id: string } }>;
type Changes = Readonly<Record<string, string | null>>;

/** `GET /v1/assets/{asset_id}/tags`: the tags of an asset. */
export function getTags(api: Api, { store }: ApiContext): void {
  api.get(
    PATH,
    {
      schema: {
        ...DOCS,
        operationId: "getAssetTags",
        summary: "Get Tags",
        response: { 200: json("The tags.", tagsSchema), ...errors("AssetNotFound") },
      },
    },
    async (request): Promise<Tags> => {
      const { uuid } = await findAsset(store, request, request.params.asset_id);
      return Object.fromEntries(await store.assetSettings.readTags(uuid));
    },
  );
}

/** `PUT /v1/assets/{asset_id}/tags`: replaces all tags of an asset. */
export function replaceTags(api: Api, context: ApiContext): void {
  api.put(
    PATH,
    {
      schema: {
        ...DOCS,
        operationId: "replaceAssetTags",
        summary: "Replace Tags",
        description: "Sets all tags of the asset: those that the request does not name are removed.",
        body: tagsSchema,
        response: { 200: json("The tags.", tagsSchema), ...errorsWithBody("AssetNotFound") },
      },
    },
    (request) => changeTags(context, request, request.body, true),
  );
}

/** `PATCH /v1/assets/{asset_id}/tags`: sets and removes single tags of an asset. */
export function updateTags(api: Api, context: ApiContext): void {
  api.patch(
    PATH,
    {
      schema: {
        ...DOCS,
        operationId: "updateAssetTags",
        summary: "Update Tags",
        description: "Sets tags of the asset, or removes them with `null`. Tags that the request does not name stay.",
        body: tagsUpdateSchema,
        response: { 200: json("The tags.", tagsSchema), ...errorsWithBody("AssetNotFound") },
      },
    },
    (request) => changeTags(context, request, request.body, false),
  );
}

/** `DELETE /v1/assets/{asset_id}/tags`: removes all tags of an asset. */
export function removeTags(api: Api, context: ApiContext): void {
  api.delete(
    PATH,
    {
      schema: {
        ...DOCS,
        operationId: "removeAssetTags",
        summary: "Remove Tags",
        description: "Removes all tags of the asset. Has no further effect when repeated.",
        response: {
          204: z.undefined().meta({ description: "The asset has no tags." }),
          ...errorsWithBody("AssetNotFound"),
        },
      },
    },
    async (request, reply) => {
      await changeTags(context, request, {}, true);
      return reply.code(204).send();
    },
  );
}

async function changeTags(
  { store, clock }: ApiContext,
  request: TagsRequest,
  changes: Changes,
  replace: boolean,
): Promise<Tags> {
  const { uuid, name } = await findAsset(store, request, request.params.asset_id);
  const before = await store.assetSettings.readTags(uuid);
  const named = Object.entries(changes);
  const set = named.flatMap(([key, value]) => (value === null ? [] : [`${key}=${value}`]));
  const removed = [...before.keys()].filter((key) => (key in changes ? changes[key] === null : replace));
  const audit = auditOf(request, clock, {
    action: "asset.tagged",
    assetUuid: uuid,
    subject: { kind: "asset", id: uuid, name },
    details: { set, removed },
  });
  const result = await store.assetSettings.changeTags(uuid, new Map(named), replace, audit);
  requireSettingsChange(result, () =>
    invalidRequest([{ path: "", reason: `the asset would have more than ${MAX_TAGS} tags` }]),
  );
  return Object.fromEntries(await store.assetSettings.readTags(uuid));
}
