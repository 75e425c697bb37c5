import {
  type CreatedEnrolmentCode,
  createdEnrolmentCodeSchema,
  enrolmentCodeCreationSchema,
  formatEnrolmentCode,
} from "../../../protocol/enrolment.ts";
import { issueCode } from "../../enrolment/codes.ts";
import { originOf } from "../audit/origin-of.ts";
import type { Api, ApiContext } from "../context.ts";
import { errorsWithBody, json } from "../docs/responses.ts";
import { assetParams, findAsset } from "./asset-resource.ts";

/** `POST /v1/assets/{asset_id}/enrolment-codes`: creates a code with which a device becomes this asset. */
export function createEnrolmentCode(api: Api, context: ApiContext): void {
  const { store } = context;
  api.post(
    "/v1/assets/:asset_id/enrolment-codes",
    {
      schema: {
        operationId: "createEnrolmentCode",
        summary: "Create Enrolment Code",
        description:
          "Creates a code that enrols the asset's device once: `edge-agent enroll --code` on the device exchanges it for a " +
          "device token. Replaces earlier codes of the asset that were not used. It is shown only once.",
        tags: ["Assets"],
        params: assetParams,
        body: enrolmentCodeCreationSchema,
        response: { 201: json("The code.", createdEnrolmentCodeSchema), ...errorsWithBody("AssetNotFound") },
      },
    },
    async (request, reply): Promise<CreatedEnrolmentCode> => {
      const { uuid, serialNumber } = await findAsset(store, request, request.params.asset_id);
      const { code, expiresAt } = await issueCode(context, uuid, request.body.valid_s, originOf(request));
      void reply.code(201);
      return { code: formatEnrolmentCode(code), serial_number: serialNumber, expires_at: expiresAt };
    },
  );
}
