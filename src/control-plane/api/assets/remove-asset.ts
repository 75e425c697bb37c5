import { z } from "zod";
import type { AssetBody } from "../../../protocol/assets/asset.ts";
import { auditEntry } from "../../accounts/audit-entry.ts";
import { originOf } from "../audit/audit-of.ts";
import { deviceSubject } from "../../accounts/access-watcher.ts";
import type { Api, ApiContext } from "../context.ts";
import { errorsWithBody, withHeaders } from "../docs/responses.ts";
import { assetParams, assetState, findAsset, readAsset } from "../asset-resource.ts";
import { changeResource, ifMatchHeaders, preconditionOf, type Resource } from "../conditional-requests.ts";
import { createLegacy, LEGACY_HEADERS } from "../legacy-mirrors.ts";

/** `DELETE /v1/assets/{asset_id}`: removes the asset and disconnects its device, whose token becomes void. */
export function removeAsset(api: Api, context: ApiContext<"accounts" | "deployments">): void {
  const { store, deployments, accounts, clock } = context;
  const legacy = createLegacy(context);
  api.delete(
    "/v1/assets/:asset_id",
    {
      schema: {
        operationId: "removeAsset",
        summary: "Remove Asset",
        description:
          "Removes the asset with its SIMs and their usage. Its device is disconnected and its token becomes void. Running " +
          "deployments are cancelled; apps on the device keep running.",
        tags: ["Assets"],
        params: assetParams,
        headers: ifMatchHeaders,
        response: {
          204: z.undefined().meta({ description: "The asset was removed." }),
          ...withHeaders(errorsWithBody("AssetNotFound", "PreconditionFailed"), 412, LEGACY_HEADERS),
        },
      },
    },
    async (request, reply) => {
      const { uuid, name, serialNumber } = await findAsset(store, request, request.params.asset_id);
      const entry = auditEntry(originOf(request), clock, {
        action: "asset.removed",
        assetUuid: uuid,
        subject: { kind: "asset", id: uuid, name },
        details: { serial_number: serialNumber },
      });
      const present = (): Promise<Resource<AssetBody>> => readAsset(context, legacy, request, reply, uuid);
      const precondition = preconditionOf(request, assetState);
      await changeResource(reply, present, () => store.assets.removeAsset(uuid, entry, precondition));
      await deployments.cancelAll(uuid);
      // Closes the device's session, whose token is void now.
      await accounts.access.recheck(deviceSubject(uuid));
      return reply.code(204).send();
    },
  );
}
