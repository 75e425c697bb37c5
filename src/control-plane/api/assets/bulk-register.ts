import {
  type BulkRegistration,
  type BulkRegistrationResult,
  bulkRegistrationResultSchema,
  bulkRegistrationSchema,
} from "../../../protocol/assets/bulk.ts";
import { bindSims } from "../../assets/bind-sims.ts";
import { registerAsset as register } from "../../assets/register-asset.ts";
import { releaseMovedSim } from "../../assets/release-moved-sim.ts";
import type { Asset } from "../../core/asset.ts";
import { identifiersOf } from "../../core/identifier.ts";
import type { RegisterResult } from "../../store/assets.ts";
import { originOf } from "../audit/audit-of.ts";
import { accountOf } from "../auth.ts";
import type { Api, ApiBase, ApiContext } from "../context.ts";
import { errorsWithBody, json } from "../docs/responses.ts";
import { bulkQuery, carryOutRows } from "./bulk-rows.ts";
import { recordConflict, requireAssetQuota } from "./register-asset.ts";

type Row = BulkRegistration["assets"][number];
type Fields = Pick<Done, "serial_number" | "asset_id" | "device_token">;
type Done = Extract<BulkRegistrationResult["results"][number], { status: "done" }>;

/** `POST /v1/bulk/assets`: registers many assets, each on its own. */
export function registerAssets(api: Api, context: ApiContext<"assets" | "sims">): void {
  api.post(
    "/v1/bulk/assets",
    {
      schema: {
        operationId: "registerAssets",
        summary: "Register Assets",
        description:
          "Registers up to 200 assets, each as Register Asset does, whether or not the others succeed. A row that is not valid refuses " +
          "the request. `asset.registered` events and entries of the audit log are those of single requests.",
        tags: ["Assets"],
        querystring: bulkQuery,
        body: bulkRegistrationSchema,
        response: {
          200: json("What became of each row.", bulkRegistrationResultSchema),
          ...errorsWithBody(),
        },
      },
    },
    async (request): Promise<BulkRegistrationResult> => {
      const accountId = accountOf(request);
      const { assets: rows, accept } = request.body;
      const isDryRun = request.query.dry_run;
      const registrar = isDryRun
        ? { ...context, store: checking(context) }
        : { ...context, release: releaseMovedSim.bind(undefined, context, accountId) };
      let registered = 0;
      const result = await carryOutRows<Row, Fields>(context, request, {
        rows,
        isDryRun,
        known: ({ serial_number }) => ({ serial_number }),
        carryOut: async (row) => {
          context.assets.conflicts.requireAllowed(accountId);
          await requireAssetQuota(context, accountId, isDryRun ? registered : 0);
          const { asset, deviceToken } = await register(
            { ...registrar, isAccepted: accept, bind: (each) => bindSims(context, each) },
            originOf(request),
            { ...row, accept },
            (conflict) => recordConflict(context, accountId, conflict),
          );
          registered++;
          return isDryRun ? {} : { asset_id: asset.uuid, device_token: deviceToken };
        },
      });
      // Each status has its fields.
      return result as BulkRegistrationResult;
    },
  );
}

/** A store that says what a registration would lead to after those that it was asked about before, and stores nothing. */
function checking({ store }: ApiBase) {
  const taken = new Map<string, Asset>();
  const registerAsset = async (asset: Asset): Promise<RegisterResult> => {
    const identifiers = identifiersOf(asset);
    const conflict = identifiers.find(({ value }) => taken.has(value));
    if (conflict) {
      const { accountId, uuid: assetUuid } = taken.get(conflict.value) as Asset;
      return { ok: false, taken: conflict.field, value: conflict.value, owner: { accountId, assetUuid } };
    }
    const result = await store.assets.checkAsset(asset);
    if (result.ok) for (const { value } of identifiers) taken.set(value, asset);
    return result;
  };
  return { assets: { registerAsset }, networkGroups: store.networkGroups };
}
