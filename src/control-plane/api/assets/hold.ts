import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { type Clock, unixNow } from "../../../lib/clock.ts";
import { type HoldBody, holdRequestSchema, holdSchema } from "../../../protocol/assets/asset-settings.ts";
import { invalidRequest } from "../../../protocol/errors/request-error.ts";
import type { Hold } from "../../store/asset-settings.ts";
import type { AuditEntry } from "../../store/audit.ts";
import type { Asset } from "../../core/asset.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import type { Api, ApiBase } from "../context.ts";
import { errors, errorsWithBody, json } from "../docs/responses.ts";
import { auditOf } from "../audit/audit-of.ts";
import { personOf } from "../auth.ts";
import { assetParams, findAsset } from "../asset-resource.ts";
import {
  changeResource,
  ifMatchHeaders,
  preconditionOf,
  type Resource,
  sendResource,
  stateOf,
} from "../conditional-requests.ts";

const PATH = "/v1/assets/:asset_id/hold";
const DOCS = { tags: ["Assets"], params: assetParams };
const CHANGE_DOCS = { ...DOCS, headers: ifMatchHeaders };

/** `GET /v1/assets/{asset_id}/hold`: whether an asset is held, and why. */
export function getHold(api: Api, { store, clock }: ApiBase): void {
  api.get(
    PATH,
    {
      schema: {
        ...DOCS,
        operationId: "getAssetHold",
        summary: "Get Hold",
        description:
          "The hold of the asset, while it is held: nothing but commands of people reaches it. `HoldNotFound` otherwise.",
        response: { 200: json("The hold.", holdSchema), ...errors("AssetNotFound", "HoldNotFound") },
      },
    },
    async (request, reply): Promise<HoldBody> => {
      const { uuid } = await findAsset(store, request, request.params.asset_id);
      const hold = holdAt(clock, await store.assetSettings.findHold(uuid));
      if (!hold) throw new EdgeError("HoldNotFound");
      return sendResource(reply, toHoldResource(uuid, hold));
    },
  );
}

/** `PUT /v1/assets/{asset_id}/hold`: holds an asset. */
export function setHold(api: Api, { store, clock }: ApiBase): void {
  api.put(
    PATH,
    {
      schema: {
        ...CHANGE_DOCS,
        operationId: "holdAsset",
        summary: "Hold Asset",
        description:
          "Holds the asset, or changes its hold: fleets leave it alone until then. Deployments under way go on, and commands of " +
          "people are carried out as ever.",
        body: holdRequestSchema,
        response: { 200: json("The hold.", holdSchema), ...errorsWithBody("AssetNotFound", "PreconditionFailed") },
      },
    },
    async (request, reply): Promise<HoldBody> => {
      const asset = await findAsset(store, request, request.params.asset_id);
      const { reason, until } = request.body;
      if (until !== undefined && until <= unixNow(clock)) {
        throw invalidRequest([{ path: "until", reason: "is not in the future" }]);
      }
      const setBy = personOf(request);
      const untilMs = until === undefined ? undefined : until * 1000;
      const hold: Hold = { reason, untilMs, setAtMs: clock.now(), setBy };
      const details = { reason, until };
      const facts = { action: "asset.held", assetUuid: asset.uuid, subject: subjectOf(asset), details } as const;
      await change({ store, clock }, request, reply, asset.uuid, { hold, audit: auditOf(request, clock, facts) });
      // Without one: another request has released it meanwhile.
      return sendResource(reply, toHoldResource(asset.uuid, (await store.assetSettings.findHold(asset.uuid)) ?? hold));
    },
  );
}

/** `DELETE /v1/assets/{asset_id}/hold`: releases an asset. */
export function releaseHold(api: Api, { store, clock }: ApiBase): void {
  api.delete(
    PATH,
    {
      schema: {
        ...CHANGE_DOCS,
        operationId: "releaseAsset",
        summary: "Release Asset",
        description: "Ends the hold of the asset. Has no further effect when repeated.",
        response: {
          204: z.undefined().meta({ description: "The asset is not held." }),
          ...errorsWithBody("AssetNotFound", "PreconditionFailed"),
        },
      },
    },
    async (request, reply) => {
      const asset = await findAsset(store, request, request.params.asset_id);
      const facts = { action: "asset.released", assetUuid: asset.uuid, subject: subjectOf(asset) } as const;
      await change({ store, clock }, request, reply, asset.uuid, { audit: auditOf(request, clock, facts) });
      return reply.code(204).send();
    },
  );
}

interface HoldChange {
  /** Without one the asset is released. */
  readonly hold?: Hold;
  readonly audit: AuditEntry;
}

async function change(
  { store, clock }: Pick<ApiBase, "store" | "clock">,
  request: FastifyRequest,
  reply: FastifyReply,
  uuid: string,
  { hold, audit }: HoldChange,
): Promise<void> {
  const toResource = (stored: Hold | undefined) => {
    const current = holdAt(clock, stored);
    return current && toHoldResource(uuid, current);
  };
  const present = async () => toResource(await store.assetSettings.findHold(uuid));
  const precondition = preconditionOf(request, (stored: Hold | undefined) => toResource(stored)?.state);
  const result = await changeResource(reply, present, () =>
    store.assetSettings.changeHold(uuid, hold, audit, precondition),
  );
  if (result === "no_asset" && hold) throw new EdgeError("AssetNotFound");
}

/** Returns the hold unless it is over. */
function holdAt(clock: Clock, hold: Hold | undefined): Hold | undefined {
  const isOver = hold?.untilMs !== undefined && hold.untilMs <= clock.now();
  return isOver ? undefined : hold;
}

function toHoldResource(uuid: string, hold: Hold): Resource<HoldBody> {
  const { untilMs = null, reason, setAtMs, setBy } = hold;
  return { state: stateOf(uuid, untilMs, reason, setAtMs, setBy), body: toHoldBody(hold) };
}

function subjectOf({ uuid, name }: Asset) {
  return { kind: "asset", id: uuid, name };
}

function toHoldBody({ reason, untilMs, setAtMs, setBy }: Hold): HoldBody {
  return {
    reason,
    until: untilMs === undefined ? null : Math.floor(untilMs / 1000),
    set_at: Math.floor(setAtMs / 1000),
    set_by: setBy,
  };
}
