import {
  assetRegistrationSchema,
  type RegisteredAsset,
  registeredAssetSchema,
} from "../../../protocol/assets/asset-request.ts";
import { bindSims } from "../../assets/bind-sims.ts";
import { releaseMovedSim } from "../../assets/release-moved-sim.ts";
import { type IdentifierConflict, registerAsset as register } from "../../assets/register-asset.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import { originOf } from "../audit/audit-of.ts";
import { accountOf } from "../auth.ts";
import type { Api, ApiBase, ApiContext } from "../context.ts";
import { ENTITY_TAG_HEADERS, errorsWithBody, json } from "../docs/responses.ts";
import { createLegacy, LEGACY_HEADERS } from "../legacy-mirrors.ts";
import { assetPath, findAssetWithState, stateTime, toAssetResponse } from "../asset-resource.ts";

const HEADERS = {
  ...ENTITY_TAG_HEADERS,
  Location: { type: "string", description: "Path of the new asset." },
  ...LEGACY_HEADERS,
};

/** `POST /v1/assets`: registers an asset and returns its device token, which is not shown again. */
export function registerAsset(api: Api, context: ApiContext<"assets" | "sims">): void {
  const legacy = createLegacy(context);
  api.post(
    "/v1/assets",
    {
      schema: {
        operationId: "registerAsset",
        summary: "Register Asset",
        description:
          "The response contains the device token, which is shown only once. The device gets nothing of a fleet's until it is " +
          "accepted, unless the account accepts by itself. SIMs start as active, or as their operator has them: it has to know them.",
        tags: ["Assets"],
        body: assetRegistrationSchema,
        response: {
          201: json("The new asset and its device token.", registeredAssetSchema, HEADERS),
          ...errorsWithBody(
            "IdentifierTaken",
            "UnknownNetworkGroup",
            "SimUnknownToOperator",
            "SimOperatorFailed",
            "QuotaExceeded",
          ),
        },
      },
    },
    async (request, reply): Promise<RegisteredAsset> => {
      const accountId = accountOf(request);
      context.assets.conflicts.requireAllowed(accountId);
      await requireAssetQuota(context, accountId);
      const { asset, deviceToken } = await register(
        {
          ...context,
          isAccepted: request.body.accept,
          bind: (asset) => bindSims(context, asset),
          release: (conflict) => releaseMovedSim(context, accountId, conflict),
        },
        originOf(request),
        request.body,
        (conflict) => recordConflict(context, accountId, conflict),
      );
      void reply.code(201).header("location", assetPath(asset.uuid));
      const time = stateTime(context);
      // With the acceptance that the account may have given it.
      const created = await findAssetWithState(context.store, request, asset.uuid, time);
      return { ...toAssetResponse(created, time, legacy, reply), device_token: deviceToken };
    },
  );
}

/** @param planned assets that are to be registered before, which are not stored */
export async function requireAssetQuota(
  { store, config, observer }: ApiBase,
  accountId: string,
  planned = 0,
): Promise<void> {
  const used = (await store.accounts.findUsage(accountId)).assets + planned;
  const limit = config.max_assets_per_account;
  if (used < limit) return;
  observer?.bounded("assets_per_account");
  throw new EdgeError("QuotaExceeded", "The account has reached its limit of assets.", {
    quota: "assets",
    used,
    limit,
  });
}

/** Logs the owner of the identifier for the service's operator, who may settle a dispute. The account does not see it. */
export function recordConflict(
  { assets, logger }: ApiContext<"assets">,
  accountId: string,
  conflict: IdentifierConflict,
): void {
  const { taken, value, owner } = conflict;
  if (owner.accountId === accountId) return;
  assets.conflicts.record(accountId);
  logger.warn(
    {
      account_id: accountId,
      field: taken,
      identifier: value,
      holder_account_id: owner.accountId,
      holder_asset: owner.assetUuid,
    },
    "identifier refused: an asset of another account has it",
  );
}
