import {
  assetRegistrationSchema,
  type RegisteredAsset,
  registeredAssetSchema,
} from "../../../protocol/asset-request.ts";
import { registerAsset as register } from "../../assets/register-asset.ts";
import { accountOf } from "../auth.ts";
import type { Api, ApiContext } from "../context.ts";
import { errorsWithBody, json } from "../docs/responses.ts";
import { createLegacy, LEGACY_HEADERS } from "../legacy/legacy.ts";
import { assetPath } from "./asset-path.ts";
import { showAsset } from "./show-asset.ts";

const HEADERS = {
  Location: { type: "string", description: "Path of the new asset." },
  ...LEGACY_HEADERS,
};

/** `POST /v1/assets`: registers an asset and answers its device token, this once. */
export function registerAsset(api: Api, context: ApiContext): void {
  const legacy = createLegacy(context);
  api.post(
    "/v1/assets",
    {
      schema: {
        operationId: "registerAsset",
        summary: "Register Asset",
        description: "The answer holds the device token, which is shown this once only. SIMs begin as active.",
        tags: ["Assets"],
        body: assetRegistrationSchema,
        response: {
          201: json("The new asset and its device token.", registeredAssetSchema, HEADERS),
          ...errorsWithBody("IdentifierTaken", "UnknownNetworkGroup"),
        },
      },
    },
    async (request, reply): Promise<RegisteredAsset> => {
      const { asset, deviceToken } = await register(context, accountOf(request), request.body);
      void reply.code(201).header("location", assetPath(asset.uuid)).header("cache-control", "no-store");
      return { ...showAsset(asset, legacy, reply), device_token: deviceToken };
    },
  );
}
