import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { invalidRequest } from "../../../protocol/request-error.ts";
import {
  MAX_VARIABLES,
  type ShownVariables,
  shownVariablesSchema,
  type Variables,
  variablesSchema,
  variablesUpdateSchema,
} from "../../../protocol/variables.ts";
import { openVariables, type PlainVariable, sealVariables } from "../../sealing/variables.ts";
import type { Api, ApiContext } from "../context.ts";
import { errors, errorsWithBody, json } from "../docs/responses.ts";
import { auditOf } from "../people/audit-entry.ts";
import { assetParams, findAsset } from "../asset-resource.ts";
import { requireSettingsChange } from "./settings-change.ts";

const PATH = "/v1/assets/:asset_id/variables";
const DOCS = { tags: ["Assets"], params: assetParams };
const NEVER_SHOWN = "Values are not in the response: they are sealed, and secrets are never shown again.";

const query = z.strictObject({
  reveal: z.literal("values").optional().meta({ description: "Includes the values of variables that are not secret." }),
});

type VariablesRequest = FastifyRequest<{ Params: { asset_id: string } }>;
type Changes = Readonly<Record<string, Variables[string] | null>>;

/** `GET /v1/assets/{asset_id}/variables`: the variables of an asset. */
export function getVariables(api: Api, { store, sealer }: ApiContext): void {
  api.get(
    PATH,
    {
      schema: {
        ...DOCS,
        operationId: "getAssetVariables",
        summary: "Get Variables",
        description: "The variables of the asset by name. Values are shown with `reveal=values` only, secrets never.",
        querystring: query,
        response: { 200: json("The variables.", shownVariablesSchema), ...errors("AssetNotFound") },
      },
    },
    async (request): Promise<ShownVariables> => {
      const { uuid } = await findAsset(store, request, request.params.asset_id);
      const stored = await store.assetSettings.readVariables(uuid);
      const isRevealed = request.query.reveal !== undefined;
      const values = isRevealed
        ? openVariables(
            sealer,
            uuid,
            stored.filter(({ isSecret }) => !isSecret),
          )
        : new Map();
      return Object.fromEntries(
        stored.map(({ name, isSecret }) => [name, { value: values.get(name)?.value ?? null, secret: isSecret }]),
      );
    },
  );
}

/** `PUT /v1/assets/{asset_id}/variables`: replaces all variables of an asset. */
export function replaceVariables(api: Api, context: ApiContext): void {
  api.put(
    PATH,
    {
      schema: {
        ...DOCS,
        operationId: "replaceAssetVariables",
        summary: "Replace Variables",
        description: `Sets all variables of the asset: those that the request does not name are removed. ${NEVER_SHOWN}`,
        body: variablesSchema,
        response: { 200: json("The variables.", shownVariablesSchema), ...errorsWithBody("AssetNotFound") },
      },
    },
    (request) => changeVariables(context, request, request.body, true),
  );
}

/** `PATCH /v1/assets/{asset_id}/variables`: sets and removes single variables of an asset. */
export function updateVariables(api: Api, context: ApiContext): void {
  api.patch(
    PATH,
    {
      schema: {
        ...DOCS,
        operationId: "updateAssetVariables",
        summary: "Update Variables",
        description: `Sets variables of the asset, or removes them with \`null\`. Others stay. ${NEVER_SHOWN}`,
        body: variablesUpdateSchema,
        response: { 200: json("The variables.", shownVariablesSchema), ...errorsWithBody("AssetNotFound") },
      },
    },
    (request) => changeVariables(context, request, request.body, false),
  );
}

/** `DELETE /v1/assets/{asset_id}/variables`: removes all variables of an asset. */
export function removeVariables(api: Api, context: ApiContext): void {
  api.delete(
    PATH,
    {
      schema: {
        ...DOCS,
        operationId: "removeAssetVariables",
        summary: "Remove Variables",
        description: "Removes all variables of the asset. Has no further effect when repeated.",
        response: {
          204: z.undefined().meta({ description: "The asset has no variables." }),
          ...errorsWithBody("AssetNotFound"),
        },
      },
    },
    async (request, reply) => {
      await changeVariables(context, request, {}, true);
      return reply.code(204).send();
    },
  );
}

async function changeVariables(
  { store, clock, sealer }: ApiContext,
  request: VariablesRequest,
  changes: Changes,
  replace: boolean,
): Promise<ShownVariables> {
  const { uuid, name: assetName } = await findAsset(store, request, request.params.asset_id);
  const before = openVariables(sealer, uuid, await store.assetSettings.readVariables(uuid));
  const named = Object.entries(changes);
  const set = named.filter(([name, to]) => to !== null && !isSame(before.get(name), to)).map(([name]) => name);
  const removed = [...before.keys()].filter((name) => (name in changes ? changes[name] === null : replace));
  // Values are sealed anew each time, so that the store cannot see that nothing would change.
  if (set.length > 0 || removed.length > 0) {
    const audit = auditOf(request, clock, {
      action: "asset_variables.changed",
      assetUuid: uuid,
      subject: { kind: "asset", id: uuid, name: assetName },
      details: { set, removed },
    });
    const sealed = sealVariables(await sealer.sealing(), uuid, named);
    const result = await store.assetSettings.changeVariables(uuid, sealed, replace, audit);
    requireSettingsChange(result, () =>
      invalidRequest([{ path: "", reason: `the asset would have more than ${MAX_VARIABLES} variables` }]),
    );
  }
  const after = await store.assetSettings.readVariables(uuid);
  return Object.fromEntries(after.map(({ name, isSecret }) => [name, { value: null, secret: isSecret }]));
}

function isSame(before: PlainVariable | undefined, to: Variables[string]): boolean {
  return before !== undefined && before.value === to.value && before.isSecret === to.secret;
}
