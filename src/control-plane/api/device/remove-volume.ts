import { z } from "zod";
import { EdgeError, type ErrorCode } from "../../../protocol/errors/errors.ts";
import { auditEntry } from "../../accounts/audit-entry.ts";
import { OUTCOME_OK } from "../../core/people/audit-actions.ts";
import { originOf } from "../audit/audit-of.ts";
import { volumeName } from "../../../protocol/apps/volume-fields.ts";
import { assetParams, findAsset } from "../asset-resource.ts";
import type { Api, ApiContext } from "../context.ts";
import { errorsWithBody } from "../docs/responses.ts";
import { streamSignal } from "../stream-signal.ts";

const UNCERTAIN: ReadonlySet<ErrorCode> = new Set(["DeviceNotReachable", "DeviceFailed", "EngineUnavailable"]);

const params = assetParams.extend({ name: volumeName.meta({ description: "Name of the volume." }) });

/** `DELETE /v1/assets/{asset_id}/edge/volumes/{name}`: deletes a volume that no app has, with its data. */
export function removeVolume(api: Api, context: ApiContext<"accounts" | "queries">): void {
  api.delete(
    "/v1/assets/:asset_id/edge/volumes/:name",
    {
      schema: {
        operationId: "removeVolume",
        summary: "Remove Volume",
        description: "Deletes a volume of the device with its data. One that an app has is refused with `VolumeInUse`.",
        tags: ["Devices"],
        params,
        response: {
          204: z.undefined().meta({ description: "The volume was deleted." }),
          ...errorsWithBody(
            "AssetNotFound",
            "VolumeNotFound",
            "VolumeInUse",
            "DeviceNotReachable",
            "DeviceTooOld",
            "DeviceFailed",
            "EngineUnavailable",
          ),
        },
      },
    },
    async (request, reply) => {
      const { asset_id: id, name } = request.params;
      const asset = await findAsset(context.store, request, id);
      const record = async (outcome: string): Promise<void> => {
        const facts = { action: "volume.removed", assetUuid: asset.uuid, outcome, details: { volume: name } } as const;
        await context.store.audit.addEntry(auditEntry(originOf(request), context.clock, facts));
      };
      try {
        await context.queries.query(asset, "remove_volume", { name }, streamSignal(request, reply, context));
      } catch (error) {
        // Whether the device has removed it is not known. Conflicts are recorded as all are.
        if (error instanceof EdgeError && UNCERTAIN.has(error.code)) await record(error.code);
        throw error;
      }
      await record(OUTCOME_OK);
      return reply.status(204).send(undefined);
    },
  );
}
