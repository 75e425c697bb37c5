import { z } from "zod";
import { errorCodeSchema } from "../deployments/deployment-event.ts";
import { tagsSchema, tagsUpdateSchema } from "../fleets/tags.ts";
import { anyObject } from "../values/scalars.ts";
import { assetRegistrationFields, requireDifferentSims } from "./asset-request.ts";

/** Maximum number of rows of one request. */
export const MAX_BULK_ROWS = 200;

const { accept, ...rowFields } = assetRegistrationFields;

/** One asset of Register Assets. */
export const assetRegistrationRowSchema = requireDifferentSims(z.strictObject(rowFields)).meta({
  id: "AssetRegistrationRow",
});

/** Body of Register Assets. */
export const bulkRegistrationSchema = z
  .strictObject({
    assets: z
      .array(assetRegistrationRowSchema)
      .min(1)
      .max(MAX_BULK_ROWS)
      .meta({ description: "Assets to register, each on its own." }),
    accept,
  })
  .meta({ id: "BulkRegistration", examples: [{ assets: [{ serial_number: "GW-1" }, { serial_number: "GW-2" }] }] });
export type BulkRegistration = z.output<typeof bulkRegistrationSchema>;

/** Body of Tag Assets. */
export const bulkTagsSchema = z
  .strictObject({
    assets: z
      .array(
        z
          .strictObject({
            asset_id: z
              .string()
              .min(1)
              .max(128)
              .meta({
                description: "Serial number, SIM SID, ICCID or UUID of the asset.",
                examples: ["GW-2026-000123"],
              }),
            tags: tagsUpdateSchema,
            replace: z.boolean().default(false).meta({ description: "Whether tags that are not named are removed." }),
            if_match: z.string().max(256).optional().meta({
              description: "As the header `If-Match` of a change of these tags alone.",
            }),
          })
          .meta({ id: "TagsRow" }),
      )
      .min(1)
      .max(MAX_BULK_ROWS)
      .meta({ description: "Assets with changes of their tags, each on its own, in this order." }),
  })
  .meta({ id: "BulkTags", examples: [{ assets: [{ asset_id: "GW-2026-000123", tags: { region: "south" } }] }] });
export type BulkTags = z.output<typeof bulkTagsSchema>;

const rowErrorSchema = z
  .strictObject({
    code: errorCodeSchema,
    message: z.string().meta({ description: "What is wrong, for people." }),
    details: anyObject.optional().meta({ description: "More about the error; its entries depend on the code." }),
  })
  .meta({ id: "RowError", description: "Why a row was not carried out, as the error of a request for it alone." });

const index = z.int().min(0).meta({ description: "Position of the row in the request, from 0." });
const STATUSES = {
  done: "It was carried out, or with `dry_run` would be.",
  failed: "It was not carried out, see `error`.",
  skipped: "It was not tried, since the time of the request was over, or the service failed: send it again.",
} as const;
const rowStatus = <S extends keyof typeof STATUSES>(status: S) =>
  z.literal(status).meta({ description: STATUSES[status] });
const assetId = z.string().meta({ description: "UUID of the asset." });

function bulkResultSchema<T extends z.ZodType>(row: T) {
  const count = z.int().min(0).max(MAX_BULK_ROWS);
  return z.strictObject({
    dry_run: z.boolean().meta({ description: "Whether nothing was changed." }),
    done: count.meta({ description: "Number of rows that are `done`." }),
    failed: count.meta({ description: "Number of rows that are `failed`." }),
    skipped: count.meta({ description: "Number of rows that are `skipped`." }),
    results: z.array(row).meta({ description: "One for each row, in the order of the request." }),
  });
}

const rowSerial = { serial_number: z.string().meta({ description: "Serial number of the row." }) };

export const bulkRegistrationResultSchema = bulkResultSchema(
  z
    .discriminatedUnion("status", [
      z.strictObject({
        index,
        status: rowStatus("done"),
        ...rowSerial,
        asset_id: assetId.optional().meta({ description: "UUID of the asset; absent with `dry_run`." }),
        device_token: z
          .string()
          .optional()
          .meta({
            description:
              "The device's credential; absent with `dry_run`. Shown only once; the service stores its hash.",
            examples: ["ed_…"],
          }),
      }),
      z.strictObject({ index, status: rowStatus("failed"), ...rowSerial, error: rowErrorSchema }),
      z.strictObject({ index, status: rowStatus("skipped"), ...rowSerial }),
    ])
    .meta({ id: "RegistrationResult" }),
).meta({ id: "BulkRegistrationResult" });
export type BulkRegistrationResult = z.output<typeof bulkRegistrationResultSchema>;

const etag = z.string().meta({ description: "The `ETag` of the tags." });

export const bulkTagsResultSchema = bulkResultSchema(
  z
    .discriminatedUnion("status", [
      z.strictObject({
        index,
        status: rowStatus("done"),
        asset_id: assetId,
        tags: tagsSchema.meta({ description: "The tags afterwards." }),
        etag,
      }),
      z.strictObject({
        index,
        status: rowStatus("failed"),
        asset_id: assetId.optional().meta({ description: "UUID of the asset; absent if there is none." }),
        error: rowErrorSchema,
        tags: tagsSchema.optional().meta({ description: "With `PreconditionFailed`: the tags as they are." }),
        etag: etag.optional(),
      }),
      z.strictObject({ index, status: rowStatus("skipped") }),
    ])
    .meta({ id: "TagsResult" }),
).meta({ id: "BulkTagsResult" });
export type BulkTagsResult = z.output<typeof bulkTagsResultSchema>;

export type RowError = z.output<typeof rowErrorSchema>;
