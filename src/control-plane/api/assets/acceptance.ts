import type { Store } from "../../store/store.ts";
import { type AccountSetting, changeSetting } from "../account/change-setting.ts";
import { unixNow } from "../../../lib/clock.ts";
import { type AssetBody, assetSchema } from "../../../protocol/assets/asset.ts";
import {
  type EnrolmentSettings,
  enrolmentSettingsSchema,
  enrolmentSettingsUpdateSchema,
} from "../../../protocol/assets/enrolment.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import { accountOf } from "../auth.ts";
import type { Api, ApiBase, ApiContext } from "../context.ts";
import { ENTITY_TAG_HEADERS, errors, errorsWithBody, json } from "../docs/responses.ts";
import { createLegacy, LEGACY_HEADERS } from "../legacy-mirrors.ts";
import { auditOf } from "../audit/audit-of.ts";
import { assetParams, findAsset, readAsset } from "../asset-resource.ts";
import { ifMatchHeaders, type Resource, sendResource, stateOf } from "../conditional-requests.ts";

const SETTINGS_PATH = "/v1/enrolment-settings";
const SETTINGS = json("The settings.", enrolmentSettingsSchema);

/** `POST /v1/assets/{asset_id}/accept`: accepts the device of an asset. */
export function acceptDevice(api: Api, context: ApiContext<"deployments">): void {
  const { store, clock, deployments } = context;
  const legacy = createLegacy(context);
  api.post(
    "/v1/assets/:asset_id/accept",
    {
      schema: {
        operationId: "acceptDevice",
        summary: "Accept Device",
        description:
          "Says that the device with the asset's token is the one it should be. Until then a device that is " +
          "new, or has replaced another one with an enrolment code, gets nothing of a fleet's. It may be " +
          "given before the device connects, and holds until another device is enrolled. Has no further " +
          "effect when repeated.",
        tags: ["Assets"],
        params: assetParams,
        response: {
          200: json("The asset.", assetSchema, { ...ENTITY_TAG_HEADERS, ...LEGACY_HEADERS }),
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
      return sendResource(reply, await readAsset(context, legacy, request, reply, uuid));
    },
  );
}

/** `GET /v1/enrolment-settings`: whether devices are accepted by themselves. */
export function getEnrolmentSettings(api: Api, { store }: ApiBase): void {
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
    async (request, reply): Promise<EnrolmentSettings> =>
      sendResource(reply, toSettings(await store.enrolments.readAutoAccept(accountOf(request)))),
  );
}

/** `PATCH /v1/enrolment-settings`: changes them. */
export function changeEnrolmentSettings(api: Api, { store, clock }: ApiBase): void {
  api.patch(
    SETTINGS_PATH,
    {
      schema: {
        operationId: "changeEnrolmentSettings",
        summary: "Change Enrolment Settings",
        description:
          "Changes the settings of the account. With `auto_accept`, all who may register an asset or have an enrolment code can " +
          "have what fleets deliver to such an asset, with values that are secret. Devices that wait already go on waiting.",
        tags: ["Assets"],
        headers: ifMatchHeaders,
        body: enrolmentSettingsUpdateSchema,
        response: { 200: SETTINGS, ...errorsWithBody("PreconditionFailed") },
      },
    },
    (request, reply): Promise<EnrolmentSettings> =>
      changeSetting(request, reply, clock, settingOf(store), {
        value: request.body.auto_accept,
        details: request.body,
      }),
  );
}

function settingOf({ enrolments }: Pick<Store, "enrolments">): AccountSetting<boolean, EnrolmentSettings> {
  return {
    read: (accountId) => enrolments.readAutoAccept(accountId),
    set: (...change) => enrolments.setAutoAccept(...change),
    toResource: toSettings,
  };
}

function toSettings(autoAccept: boolean): Resource<EnrolmentSettings> {
  return { state: stateOf(autoAccept), body: { auto_accept: autoAccept } };
}
