import { z } from "zod";
import { assetStatusSchema } from "./asset.ts";
import { allowanceSchema } from "./data-plan.ts";
import { unixSeconds } from "../values/scalars.ts";
import { iccidSchema, simTypeSchema, superSimSchema } from "./sim.ts";
import { pageQuerySchema } from "../people/users.ts";

/** Query of Get SIMs. */
export const simListQuerySchema = pageQuerySchema.extend({
  type: simTypeSchema.optional().meta({ description: "SIMs of this type only." }),
  attention: z.literal("data").optional().meta({
    description: "`data`: only SIMs whose monthly allowance is used up, or will be before the month ends.",
  }),
});

const { bytes, source, period, used_bytes, forecast_bytes } = allowanceSchema.shape;

/** The monthly allowance of a SIM in a list, with what was found of it last. */
const simAllowanceSchema = z
  .strictObject({
    bytes,
    source,
    period,
    used_bytes: used_bytes.exactOptional(),
    forecast_bytes: forecast_bytes.exactOptional(),
    as_of: unixSeconds("When the usage was counted.").exactOptional(),
  })
  .meta({
    id: "SimAllowance",
    description:
      "The monthly allowance, with the usage as it was judged last, one to six hours ago. Absent if there is none; without the " +
      "usage while this month's has not been judged.",
  });

/** A SIM as its operator has it, in a list. */
export const simEntrySchema = z
  .strictObject({
    type: simTypeSchema.meta({ description: "Which SIM of the asset." }),
    iccid: z.string().meta({ ...iccidSchema.meta() }),
    asset_id: z.string().meta({ description: "UUID of the asset that holds it." }),
    asset_name: z.string().meta({ description: "Name of the asset." }),
    serial_number: z.string().meta({ description: "Serial number of the asset." }),
    status: assetStatusSchema.meta({ description: "As the operator has confirmed it." }),
    operator_status: z
      .string()
      .exactOptional()
      .meta({
        description:
          "The status in the operator's words, when it was asked last; absent after a change until it is asked again.",
        examples: ["ready"],
      }),
    network_group: z
      .string()
      .exactOptional()
      .meta({ description: "Of a Super SIM.", examples: ["default_1gb"] }),
    service_profile: z
      .string()
      .exactOptional()
      .meta({ description: "Of a PRO SIM.", examples: ["iot-eu-standard"] }),
    pending: superSimSchema.shape.pending,
    lost: z
      .boolean()
      .meta({ description: "Whether the operator did not know the SIM when it was asked last. Its last state stays." }),
    checked_at: unixSeconds(
      "When the operator was asked last; null for never, and where no operator serves the type.",
    ).nullable(),
    allowance: simAllowanceSchema.exactOptional(),
  })
  .meta({ id: "SimEntry" });
export type SimEntryBody = z.output<typeof simEntrySchema>;

/** Response of Get SIMs of Asset. */
export const assetSimsSchema = z
  .strictObject({
    sims: z.array(simEntrySchema).meta({ description: "The SIMs of the asset: of each type at most one." }),
  })
  .meta({ id: "AssetSims" });
export type AssetSims = z.output<typeof assetSimsSchema>;

/** Response of Get SIMs. */
export const simListSchema = z
  .strictObject({
    sims: z
      .array(simEntrySchema)
      .meta({ description: "The SIMs of this page, in the order in which their assets were registered." }),
    next_cursor: z.string().nullable().meta({ description: "Cursor of the next page; `null` on the last one." }),
  })
  .meta({ id: "SimList" });
export type SimList = z.output<typeof simListSchema>;
