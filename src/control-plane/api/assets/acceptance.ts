import { unixNow } from "../../../lib/clock.ts";
import { type AssetBody, assetSchema } from "../../../protocol/asset.ts";
import {
  type EnrolmentSettings,
  enrolmentSettingsSchema,
  enrolmentSettingsUpdateSchema,
} from "../../../protocol/enrolment.ts";
import { EdgeError } from "../../../protocol/errors.ts";
import { accountOf } from "../auth.ts";
import type { Api, ApiContext } from "../context.ts";
import { errors, errorsWithBody, json } from "../docs/responses.ts";
import { createLegacy, LEGACY_HEADERS } from "../legacy-mirrors.ts";
import { auditOf } from "../people/audit-entry.ts";
import { assetParams, findAsset, findAssetWithState, stateTime, toAssetResponse } from "../asset-resource.ts";

const SETTINGS_PATH = "/v1/enrolment-settings";
const SETTINGS = json("The settings.", enrolmentSettingsSchema);

/** `POST /v1/assets/{asset_id}/accept`: accepts the device of an asset. */
export function acceptDevice(api: Api, context: ApiContext): void {
  const { store, clock, deployments } = context;
  const legacy = createLegacy(context);
  api.post(
    "/v1/assets/:asset_id/accept",
    {
      schema: {
        operationId: "acceptDevice",
        summary: "Accept Device",
        description:
          "Says that the device that has the token of the asset is the one it should be. Until then a device that is new, or has " +
          "taken the place of another one with an enrolment code, gets nothing of a fleet's. It may be given before the device " +
          "connects, and holds until another device is enrolled. Has no further effect when repeated.",
        tags: ["Assets"],
        params: assetParams,
        response: {
          200: json("The asset.", assetSchema, LEGACY_HEADERS),
          ...errorsWithBody("AssetNotFound"),
        },
      },
    },
    async (request, reply): Promise<AssetBody> => {
      const { uuid, name } = await findAsset(store, request, request.params.asset_id);
      const facts = { action: "asset.accepted", assetUuid: uuid, subject: { kind: "asset", id: uuid, name } } as const;
      const accepted = await store.enrolments.acceptDevice(uuid, unixNow(clock), auditOf(request, clock, facts));
      if (accepted === undefined) throw new EdgeError("AssetNotFound");
      // What was kept back.
      if (accepted) deployments.deliverHeld();
      const time = stateTime(context);
      const tags = await store.assetSettings.readTags(uuid);
      return toAssetResponse(await findAssetWithState(store, request, uuid, time), time, legacy, reply, tags);
    },
  );
}

/** `GET /v1/enrolment-settings`: whether devices are accepted by themselves. */
export function getEnrolmentSettings(api: Api, { store }: ApiContext): void {
  api.get(
    SETTINGS_PATH,
    {
      schema: {
        operationId: "getEnrolmentSettings",
        summary: "Get Enrolment Settings",
        description: "Whether devices that are new, or replace others, are accepted by themselves. Not unless set.",
        tags: ["Assets"],
        response: { 200: SETTINGS, ...errors() },
      },
    },
    async (request): Promise<EnrolmentSettings> => ({
      auto_accept: await store.enrolments.readAutoAccept(accountOf(request)),
    }),
  );
}

/** `PATCH /v1/enrolment-settings`: changes them. */
export function changeEnrolmentSettings(api: Api, { store, clock }: ApiContext): void {
  api.patch(
    SETTINGS_PATH,
    {
      schema: {
        operationId: "changeEnrolmentSettings",
        summary: "Change Enrolment Settings",
        description:
          "Changes the settings of the account. With `auto_accept`, everybody who may register an asset or has an enrolment code can " +
          "have what fleets deliver to such an asset, with values that are secret. Devices that wait already go on waiting.",
        tags: ["Assets"],
        body: enrolmentSettingsUpdateSchema,
        response: { 200: SETTINGS, ...errorsWithBody() },
      },
    },
    async (request): Promise<EnrolmentSettings> => {
      const { auto_accept } = request.body;
      const details = { fields: ["auto_accept"], auto_accept };
      const entry = auditOf(request, clock, { action: "settings.changed", details });
      await store.enrolments.setAutoAccept(accountOf(request), auto_accept, entry);
      return { auto_accept };
    },
  );
}
