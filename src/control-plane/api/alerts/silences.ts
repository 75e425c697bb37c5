import { z } from "zod";
import {
  MAX_SILENCE_S,
  MIN_SILENCE_S,
  type SilenceBody,
  silenceCreationSchema,
  type SilenceList,
  silenceListQuerySchema,
  silenceListSchema,
  silenceSchema,
} from "../../../protocol/alerts/silence.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import { invalidRequest } from "../../../protocol/errors/request-error.ts";
import { createId } from "../../accounts/secrets.ts";
import { silencesSubject } from "../../core/alerts/grouping.ts";
import { termsOfSelector } from "../../core/selector-terms.ts";
import { MAX_SILENCES, type Silence } from "../../store/alerts.ts";
import { findAsset } from "../asset-resource.ts";
import { accountOf } from "../auth.ts";
import type { Api, ApiBase } from "../context.ts";
import { errors, errorsWithBody, json } from "../docs/responses.ts";
import { pageOf } from "../page.ts";
import { auditOf } from "../audit/audit-of.ts";
import { nameOf } from "./alerts.ts";

const silenceParams = z.object({ silence_id: z.string().meta({ description: "Id of the silence." }) });

/** `GET /v1/silences`: the silences of the account that have not ended. */
export function listSilences(api: Api, { store, clock }: ApiBase): void {
  api.get(
    "/v1/silences",
    {
      schema: {
        operationId: "listSilences",
        summary: "List Silences",
        description: "The silences of the account that have not ended, the oldest first.",
        tags: ["Alerts"],
        querystring: silenceListQuerySchema,
        response: { 200: json("One page of silences.", silenceListSchema), ...errors() },
      },
    },
    async (request): Promise<SilenceList> => {
      const { asset, ...page } = request.query;
      const accountId = accountOf(request);
      const all = await store.alertSettings.listSilences(accountId, Math.floor(clock.now()));
      const silences = asset === undefined ? all : await ofAsset(store, accountId, asset, all);
      const listed = silences.map((silence) =>
        Object.assign({ createdAt: Math.floor(silence.createdAtMs / 1000) }, silence),
      );
      // The store has those that end first before the others.
      listed.sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
      const { items, nextCursor } = pageOf(listed, page);
      return { silences: items.map(toBody), next_cursor: nextCursor };
    },
  );
}

/** Returns the silences that take the asset. What is no asset has none. */
async function ofAsset(
  { assets, assetSettings }: ApiBase["store"],
  accountId: string,
  identifier: string,
  silences: readonly Silence[],
): Promise<readonly Silence[]> {
  const found = await assets.findAsset(accountId, identifier);
  if (!found) return [];
  const { uuid: id, name, type } = found;
  const subject = { kind: "asset", id, name, type, tags: await assetSettings.readTags(id) } as const;
  return silences.filter(({ asset, selector }) =>
    silencesSubject({ assetUuid: asset?.uuid, terms: termsOfSelector(selector) }, subject),
  );
}

/** `POST /v1/silences`: of some alerts nothing is told for a time. */
export function createSilence(api: Api, { store, clock }: ApiBase): void {
  api.post(
    "/v1/silences",
    {
      schema: {
        operationId: "createSilence",
        summary: "Create Silence",
        description:
          "Of the alerts that it matches nothing is told until its end, and what was told already is not repeated. What still fires " +
          "then is told then. That something is over is always told.",
        tags: ["Alerts"],
        body: silenceCreationSchema,
        response: { 201: json("The silence.", silenceSchema), ...errorsWithBody("AssetNotFound", "QuotaExceeded") },
      },
    },
    async (request, reply): Promise<SilenceBody> => {
      const { reason, until, selector, asset: identifier, conditions } = request.body;
      const nowMs = Math.floor(clock.now());
      const forS = until - nowMs / 1000;
      if (forS < MIN_SILENCE_S || forS > MAX_SILENCE_S)
        throw invalidRequest([{ path: "until", reason: "is not from a minute to 366 days from now" }]);
      const asset = identifier === undefined ? undefined : await findAsset(store, request, identifier);
      const silence: Silence = {
        id: createId("sil_"),
        accountId: accountOf(request),
        conditions: conditions && [...new Set(conditions)],
        selector,
        asset: asset && { uuid: asset.uuid, name: asset.name },
        reason,
        createdBy: nameOf(request),
        createdAtMs: nowMs,
        endsAtMs: until * 1000,
      };
      const details = { reason, selector, asset: asset?.name, conditions: silence.conditions, until };
      const audit = auditOf(request, clock, { action: "silence.created", ...aboutOf(silence), details });
      const stored = await store.alertSettings.createSilence(silence, audit);
      if (stored === "no_asset") throw new EdgeError("AssetNotFound");
      if (stored === "too_many") {
        throw new EdgeError(
          "QuotaExceeded",
          `The account has ${MAX_SILENCES} silences; end some that are not needed.`,
          {
            quota: "silences",
            used: MAX_SILENCES,
            limit: MAX_SILENCES,
          },
        );
      }
      void reply.code(201);
      return toBody(silence);
    },
  );
}

/** `DELETE /v1/silences/{silence_id}`: ends a silence. */
export function endSilence(api: Api, { store, clock }: ApiBase): void {
  api.delete(
    "/v1/silences/:silence_id",
    {
      schema: {
        operationId: "endSilence",
        summary: "End Silence",
        description: "Ends the silence before its time.",
        tags: ["Alerts"],
        params: silenceParams,
        response: {
          204: z.undefined().meta({ description: "The silence has ended." }),
          ...errorsWithBody("SilenceNotFound"),
        },
      },
    },
    async (request, reply) => {
      const accountId = accountOf(request);
      const { silence_id: id } = request.params;
      const nowMs = Math.floor(clock.now());
      const found = (await store.alertSettings.listSilences(accountId, nowMs)).find((silence) => silence.id === id);
      const audit = found && auditOf(request, clock, { action: "silence.ended", ...aboutOf(found) });
      if (!audit || !(await store.alertSettings.endSilence(accountId, id, nowMs, audit)))
        throw new EdgeError("SilenceNotFound");
      return reply.code(204).send();
    },
  );
}

/** Returns what an entry of the audit log is about. */
function aboutOf({ id, reason, asset }: Silence) {
  return { subject: { kind: "silence", id, name: reason }, ...(asset && { assetUuid: asset.uuid }) };
}

function toBody({ id, conditions, selector, asset, reason, createdBy, createdAtMs, endsAtMs }: Silence): SilenceBody {
  return {
    id,
    reason,
    selector,
    asset: asset ? { id: asset.uuid, name: asset.name } : null,
    conditions: conditions === undefined ? null : [...conditions],
    created_at: Math.floor(createdAtMs / 1000),
    created_by: createdBy,
    until: Math.floor(endsAtMs / 1000),
  };
}
