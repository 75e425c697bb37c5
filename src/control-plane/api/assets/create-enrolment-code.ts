import {
  type CreatedEnrolmentCode,
  createdEnrolmentCodeSchema,
  enrolmentCodeCreationSchema,
  formatEnrolmentCode,
} from "../../../protocol/assets/enrolment.ts";
import { issueCode } from "../../assets/enrolment-codes.ts";
import { permissionsOf } from "../../core/people/roles.ts";
import { originOf } from "../audit/audit-of.ts";
import { principalOf } from "../auth.ts";
import type { Api, ApiBase } from "../context.ts";
import { errorsWithBody, json } from "../docs/responses.ts";
import { requirePermissionFor } from "../people/require-permission.ts";
import { assetParams, findAssetWithState, stateTime } from "../asset-resource.ts";

/** `POST /v1/assets/{asset_id}/enrolment-codes`: creates a code with which a device becomes this asset. */
export function createEnrolmentCode(api: Api, context: ApiBase): void {
  const { store } = context;
  api.post(
    "/v1/assets/:asset_id/enrolment-codes",
    {
      schema: {
        operationId: "createEnrolmentCode",
        summary: "Create Enrolment Code",
        description:
          "Creates a code, shown only once, that `edge-agent enroll --code` on the asset's device exchanges " +
          "for a device token. Replaces earlier codes of the asset that were not used. Once a device of the " +
          "asset has been connected, it takes the permission `enrolment.replace`, and codes that were made " +
          "without it are refused.",
        tags: ["Assets"],
        params: assetParams,
        body: enrolmentCodeCreationSchema,
        response: { 201: json("The code.", createdEnrolmentCodeSchema), ...errorsWithBody("AssetNotFound") },
      },
    },
    async (request, reply): Promise<CreatedEnrolmentCode> => {
      const { asset, state } = await findAssetWithState(store, request, request.params.asset_id, stateTime(context));
      const { uuid, serialNumber } = asset;
      if (state.lastSeenAt !== undefined) requirePermissionFor(request, "enrolment.replace");
      const mayReplace = permissionsOf(principalOf(request).role).has("enrolment.replace");
      const terms = { validS: request.body.valid_s, mayReplace };
      const { code, expiresAt } = await issueCode(context, uuid, terms, originOf(request));
      void reply.code(201);
      return { code: formatEnrolmentCode(code), serial_number: serialNumber, expires_at: expiresAt };
    },
  );
}
