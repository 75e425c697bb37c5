import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { EdgeError } from "../../../protocol/errors/errors.ts";
import { invalidRequest } from "../../../protocol/errors/request-error.ts";
import { MAX_TAGS, type Tags, tagsSchema, tagsUpdateSchema } from "../../../protocol/fleets/tags.ts";
import type { Asset } from "../../core/asset.ts";
import type { Precondition } from "../../store/precondition.ts";
import type { Api, ApiBase } from "../context.ts";
import { errors, errorsWithBody, json } from "../docs/responses.ts";
import { auditOf } from "../audit/audit-of.ts";
import { assetParams, findAsset, requireSettingsChange } from "../asset-resource.ts";
import {
  changeResource,
  ifMatchHeaders,
  preconditionOf,
  type Resource,
  sendResource,
  stateOf,
} from "../conditional-requests.ts";

const PATH = "/v1/assets/:asset_id/tags";
const DOCS = { tags: ["Assets"], params: assetParams };
const CHANGE_DOCS = { ...DOCS, headers: ifMatchHeaders };
const CHANGE_ERRORS = errorsWithBody("AssetNotFound", "PreconditionFailed");

type TagsRequest = FastifyRequest<{ Params: { asset_id: string } }>;
type Stored = ReadonlyMap<string, string>;
type Changes = Readonly<Record<string, string | null>>;

/** `GET /v1/assets/{asset_id}/tags`: the tags of an asset. */
export function getTags(api: Api, { store }: ApiBase): void {
  api.get(
    PATH,
    {
      schema: {
        ...DOCS,
        operationId: "getAssetTags",
        summary: "Get Tags",
        description: "The tags of the asset, by which fleets and lists select it.",
        response: { 200: json("The tags.", tagsSchema), ...errors("AssetNotFound") },
      },
    },
    async (request, reply): Promise<Tags> => {
      const { uuid } = await findAsset(store, request, request.params.asset_id);
      return sendResource(reply, toTagsResource(uuid, await store.assetSettings.readTags(uuid)));
    },
  );
}

/** `PUT /v1/assets/{asset_id}/tags`: replaces all tags of an asset. */
export function replaceTags(api: Api, context: ApiBase): void {
  api.put(
    PATH,
    {
      schema: {
        ...CHANGE_DOCS,
        operationId: "replaceAssetTags",
        summary: "Replace Tags",
        description: "Sets all tags of the asset: those that the request does not name are removed.",
        body: tagsSchema,
        response: { 200: json("The tags.", tagsSchema), ...CHANGE_ERRORS },
      },
    },
    (request, reply) => respondToChange(context, request, reply, request.body, true),
  );
}

/** `PATCH /v1/assets/{asset_id}/tags`: sets and removes single tags of an asset. */
export function updateTags(api: Api, context: ApiBase): void {
  api.patch(
    PATH,
    {
      schema: {
        ...CHANGE_DOCS,
        operationId: "updateAssetTags",
        summary: "Update Tags",
        description: "Sets tags of the asset, or removes them with `null`. Tags that the request does not name stay.",
        body: tagsUpdateSchema,
        response: { 200: json("The tags.", tagsSchema), ...CHANGE_ERRORS },
      },
    },
    (request, reply) => respondToChange(context, request, reply, request.body, false),
  );
}

/** `DELETE /v1/assets/{asset_id}/tags`: removes all tags of an asset. */
export function removeTags(api: Api, context: ApiBase): void {
  api.delete(
    PATH,
    {
      schema: {
        ...CHANGE_DOCS,
        operationId: "removeAssetTags",
        summary: "Remove Tags",
        description: "Removes all tags of the asset. Has no further effect when repeated.",
        response: {
          204: z.undefined().meta({ description: "The asset has no tags." }),
          ...CHANGE_ERRORS,
        },
      },
    },
    async (request, reply) => {
      await respondToChange(context, request, reply, {}, true);
      return reply.code(204).send();
    },
  );
}

async function respondToChange(
  context: ApiBase,
  request: TagsRequest,
  reply: FastifyReply,
  changes: Changes,
  replace: boolean,
): Promise<Tags> {
  const { store } = context;
  const asset = await findAsset(store, request, request.params.asset_id);
  const { uuid } = asset;
  const precondition = preconditionOf(request, (tags: Stored) => stateOfTags(uuid, tags));
  const present = async () => toTagsResource(uuid, await store.assetSettings.readTags(uuid));
  await changeResource(reply, present, () => changeTags(context, request, asset, { changes, replace, precondition }));
  return sendResource(reply, await present());
}

interface TagsChange {
  readonly changes: Changes;
  /** Whether tags that are not named are removed. */
  readonly replace: boolean;
  readonly precondition: Precondition<Stored> | undefined;
}

/** Changes the tags of an asset. Errors: `AssetNotFound` if it was removed meanwhile, and `InvalidRequest` for too many. */
export async function changeTags(
  { store, clock }: ApiBase,
  request: FastifyRequest,
  { uuid, name }: Asset,
  { changes, replace, precondition }: TagsChange,
): Promise<void> {
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
  const result = await store.assetSettings.changeTags(uuid, new Map(named), replace, audit, precondition);
  requireSettingsChange(result, tooManyTags);
}

/** Returns the tags as a change would leave them. Error: `InvalidRequest` for too many. */
export function planTags(before: Stored, changes: Changes, replace: boolean): Stored {
  const kept = replace ? [] : [...before].filter(([key]) => changes[key] === undefined);
  const set = Object.entries(changes).filter((entry): entry is [string, string] => entry[1] !== null);
  const after = new Map([...kept, ...set].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  if (after.size > MAX_TAGS) throw tooManyTags();
  return after;
}

function tooManyTags(): EdgeError {
  return invalidRequest([{ path: "", reason: `the asset would have more than ${MAX_TAGS} tags` }]);
}

export function stateOfTags(uuid: string, tags: Stored): string {
  return stateOf(uuid, [...tags]);
}

export function toTagsResource(uuid: string, tags: Stored): Resource<Tags> {
  return { state: stateOfTags(uuid, tags), body: Object.fromEntries(tags) };
}
