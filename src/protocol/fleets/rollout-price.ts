import { z } from "zod";
import { errorCodeSchema } from "../deployments/deployment-event.ts";
import { foreseenSchema, waitReasonSchema } from "./rollout.ts";
import { unixSeconds } from "../values/scalars.ts";

/*
 * The price of a rollout: what its members would download, asked of each one that is connected.
 */

const count = z.int().min(0);
const bytes = count.meta({ description: "Compressed bytes to download." });

/** What one asset has answered. */
const assetPriceSchema = z
  .strictObject({
    asset_id: z.string().meta({ description: "UUID of the asset." }),
    asset_name: z.string().meta({ description: "Name of the asset." }),
    serial_number: z.string().meta({ description: "Serial number of the asset." }),
    wave: z.int().min(1).meta({ description: "Number of its wave, from 1." }),
    for: waitReasonSchema.optional().meta({ description: "What it would wait for if it were its turn now." }),
    download_bytes: bytes.optional(),
    code: errorCodeSchema.optional().meta({ description: "Why it could not be asked, or would refuse it." }),
    message: z.string().optional().meta({ description: "The same for people." }),
  })
  .meta({ id: "AssetPrice" });
export type AssetPrice = z.output<typeof assetPriceSchema>;

/** The sums of all that were asked. */
const priceSumSchema = z
  .strictObject({
    revision: z.int().min(1).meta({ description: "The revision that it would bring." }),
    waves: z
      .array(
        z.strictObject({
          wave: z.int().min(1).meta({ description: "Number of the wave, from 1." }),
          targets: count.meta({ description: "Number of its assets." }),
        }),
      )
      .meta({ description: "Number of assets by wave." }),
    targets: count.meta({ description: "Number of assets." }),
    asked: count.meta({ description: "Number of assets that have answered with their price." }),
    not_asked: count.meta({
      description:
        "Number of assets without an answer: they are not connected, are busy with another deployment, or wait for people.",
    }),
    refused: count.meta({ description: "Number of assets that were asked and have not answered with a price." }),
    download_bytes: bytes.meta({ description: "Sum of the bytes of those that were asked." }),
    foreseen: foreseenSchema,
    plan_id: z
      .string()
      .meta({ description: "Id of the plan, from which a rollout with these waves can be made once." }),
    expires_at: unixSeconds("Until when."),
  })
  .meta({ id: "RolloutPrice" });
export type RolloutPrice = z.output<typeof priceSumSchema>;

/** One event of the stream of a dry run. */
export const priceEventSchema = z
  .strictObject({
    status: z.enum(["Running", "Success", "Fail"]).meta({
      description:
        "`Running` for each asset, then `Success` or `Fail`, which is the last event. `Fail` with `details`: so many assets would " +
        "refuse it that the rollout could not succeed.",
    }),
    message: z.string().meta({ description: "What happened, for people." }),
    seq: z.int().min(1).meta({ description: "Number of the event, from 1, without gaps." }),
    timestamp: z.int().meta({ description: "When it happened. Unix seconds, UTC." }),
    asset: assetPriceSchema.optional().meta({ description: "With `Running`: what one asset has answered." }),
    details: priceSumSchema.optional().meta({ description: "With the last event: the sums." }),
    code: errorCodeSchema
      .optional()
      .meta({ description: "With `Fail`, unless the dry run was completed: the error code." }),
  })
  .meta({ id: "RolloutPriceEvent" });
export type PriceEvent = z.output<typeof priceEventSchema>;
