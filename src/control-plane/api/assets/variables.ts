import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { invalidRequest } from "../../../protocol/errors/request-error.ts";
import {
  MAX_VARIABLES,
  type ShownVariables,
  shownVariablesSchema,
  type Variables,
  variablesSchema,
  variablesUpdateSchema,
} from "../../../protocol/values/variables.ts";
import { openVariables, type PlainVariable, sealVariables } from "../../sealing/variables.ts";
import type { Api, ApiContext } from "../context.ts";
import { errors, errorsWithBody, json } from "../docs/responses.ts";
import { auditOf } from "../audit/audit-of.ts";
import { assetParams, findAsset, requireSettingsChange } from "../asset-resource.ts";
import type { StoredVariable } from "../../store/asset-settings.ts";
import {
  changeResource,
  ifMatchHeaders,
  preconditionOf,
  type Resource,
  sendResource,
  stateOf,
} from "../conditional-requests.ts";

const PATH = "/v1/assets/:asset_id/variables";
const DOCS = { tags: ["Assets"], params: assetParams };
const CHANGE_DOCS = { ...DOCS, headers: ifMatchHeaders };
const CHANGE_ERRORS = errorsWithBody("AssetNotFound", "PreconditionFailed");
const NEVER_SHOWN = "Values are not in the response: they are sealed, and secrets are never shown again.";

const query = z.strictObject({
  reveal: z.literal("values").optional().meta({ description: "Includes the values of variables that are not secret." }),
});

type VariablesRequest = FastifyRequest<{ Params: { asset_id: string } }>;
type Changes = Readonly<Record<string, Variables[string] | null>>;

/** `GET /v1/assets/{asset_id}/variables`: the variables of an asset. */
export function getVariables(api: Api, { store, sealer }: ApiContext<"sealer">): void {
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
    async (request, reply): Promise<ShownVariables> => {
      const { uuid } = await findAsset(store, request, request.params.asset_id);
      const stored = await store.assetSettings.readVariables(uuid);
      const shown = request.query.reveal === undefined ? [] : stored.filter(({ isSecret }) => !isSecret);
      return sendResource(reply, toResource(uuid, stored, openVariables(sealer, uuid, shown)));
    },
  );
}

/** `PUT /v1/assets/{asset_id}/variables`: replaces all variables of an asset. */
export function replaceVariables(api: Api, context: ApiContext<"sealer">): void {
  api.put(
    PATH,
    {
      schema: {
        ...CHANGE_DOCS,
        operationId: "replaceAssetVariables",
        summary: "Replace Variables",
        description: `Sets all variables of the asset: those that the request does not name are removed. ${NEVER_SHOWN}`,
        body: variablesSchema,
        response: { 200: json("The variables.", shownVariablesSchema), ...CHANGE_ERRORS },
      },
    },
    (request, reply) => changeVariables(context, request, reply, request.body, true),
  );
}

/** `PATCH /v1/assets/{asset_id}/variables`: sets and removes single variables of an asset. */
export function updateVariables(api: Api, context: ApiContext<"sealer">): void {
  api.patch(
    PATH,
    {
      schema: {
        ...CHANGE_DOCS,
        operationId: "updateAssetVariables",
        summary: "Update Variables",
        description: `Sets variables of the asset, or removes them with \`null\`. Others stay. ${NEVER_SHOWN}`,
        body: variablesUpdateSchema,
        response: { 200: json("The variables.", shownVariablesSchema), ...CHANGE_ERRORS },
      },
    },
    (request, reply) => changeVariables(context, request, reply, request.body, false),
  );
}

/** `DELETE /v1/assets/{asset_id}/variables`: removes all variables of an asset. */
export function removeVariables(api: Api, context: ApiContext<"sealer">): void {
  api.delete(
    PATH,
    {
      schema: {
        ...CHANGE_DOCS,
        operationId: "removeAssetVariables",
        summary: "Remove Variables",
        description: "Removes all variables of the asset. Has no further effect when repeated.",
        response: {
          204: z.undefined().meta({ description: "The asset has no variables." }),
          ...CHANGE_ERRORS,
        },
      },
    },
    async (request, reply) => {
      await changeVariables(context, request, reply, {}, true);
      return reply.code(204).send();
    },
  );
}

async function changeVariables(
  { store, clock, sealer }: ApiContext<"sealer">,
  request: VariablesRequest,
  reply: FastifyReply,
  changes: Changes,
  replace: boolean,
): Promise<ShownVariables> {
  const { uuid, name: assetName } = await findAsset(store, request, request.params.asset_id);
  const stored = await store.assetSettings.readVariables(uuid);
  const before = openVariables(sealer, uuid, stored);
  const precondition = preconditionOf(request, (current: readonly StoredVariable[]) => stateOfVariables(uuid, current));
  const present = async () => toResource(uuid, await store.assetSettings.readVariables(uuid));
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
    const result = await changeResource(reply, present, () =>
      store.assetSettings.changeVariables(uuid, sealed, replace, audit, precondition),
    );
    requireSettingsChange(result, () =>
      invalidRequest([{ path: "", reason: `the asset would have more than ${MAX_VARIABLES} variables` }]),
    );
  } else await changeResource(reply, present, async () => precondition?.(stored));
  return sendResource(reply, await present());
}

/** Of the sealed values: they differ after each change, and say nothing about the values. */
function stateOfVariables(uuid: string, variables: readonly StoredVariable[]): string {
  const facts = variables.map(({ name, isSecret, sealed }) => [name, isSecret, Buffer.from(sealed).toString("base64")]);
  return stateOf(uuid, facts);
}

/** @param values those that are shown */
function toResource(
  uuid: string,
  variables: readonly StoredVariable[],
  values?: ReadonlyMap<string, PlainVariable>,
): Resource<ShownVariables> {
  const shown = variables.map(
    ({ name, isSecret }) => [name, { value: values?.get(name)?.value ?? null, secret: isSecret }] as const,
  );
  return { state: stateOfVariables(uuid, variables), body: Object.fromEntries(shown) };
}

function isSame(before: PlainVariable | undefined, to: Variables[string]): boolean {
  return before !== undefined && before.value === to.value && before.isSecret === to.secret;
}
