import { z } from "zod";
import { errorCodeSchema } from "../deployments/deployment-event.ts";
import { anyObject, integerString, MAX_UNIX_SECONDS, unixSeconds } from "../values/scalars.ts";
import { iccidSchema, simTypeSchema } from "./sim.ts";
import { pageQuerySchema } from "../people/users.ts";

/** Period of each total: `all` is the whole range; the others are periods in UTC. */
export const granularitySchema = z.enum(["all", "hour", "day", "month"]);
export type Granularity = z.output<typeof granularitySchema>;

/** Maximum range of one usage query, in days. */
export const MAX_USAGE_DAYS = 400;

/** Query of SIM usage. */
export const usageQuerySchema = z.strictObject({
  start_time: integerString(0, MAX_UNIX_SECONDS)
    .optional()
    .meta({
      description: "Unix seconds, inclusive; the start of the current month in UTC by default.",
      examples: [1_790_000_000],
    }),
  end_time: integerString(0, MAX_UNIX_SECONDS)
    .optional()
    .meta({
      description: `Unix seconds, exclusive; now by default. At most ${MAX_USAGE_DAYS} days after start_time.`,
      examples: [1_792_000_000],
    }),
  granularity: granularitySchema.default("all").meta({ description: "Period of each entry, in UTC." }),
});
export type UsageQuery = z.output<typeof usageQuerySchema>;

const period = {
  start_time: unixSeconds("Start of the entry's period; absent with granularity `all`.").optional(),
  end_time: unixSeconds("End of the entry's period; absent with granularity `all`.").optional(),
};
const total = z
  .int()
  .min(0)
  .meta({ description: "Bytes.", examples: [52_428_800] });

const superSimUsageEntry = z
  .strictObject({
    network_group: z
      .string()
      .meta({ description: "Network group in which the bytes were used.", examples: ["default_1gb"] }),
    total,
    ...period,
  })
  .meta({ id: "SuperSimUsageEntry" });
const proSimUsageEntry = z
  .strictObject({
    service_profile: z
      .string()
      .meta({ description: "Service profile in which the bytes were used.", examples: ["iot-eu-standard"] }),
    total,
    ...period,
  })
  .meta({ id: "ProSimUsageEntry" });

const range = {
  start_time: unixSeconds("Start of the range, inclusive."),
  end_time: unixSeconds("End of the range, exclusive."),
  finalized_until: unixSeconds("Usage before this time is final; `end_time` if all of it is."),
  as_of: unixSeconds(
    "When the SIM operator last said what is not final: a while ago if it does not answer. Absent where usage is imported.",
  ).exactOptional(),
};

/** Usage of a Super SIM, split by network group. */
export const superSimUsageSchema = z
  .strictObject({
    ...range,
    usages: z.array(superSimUsageEntry).meta({ description: "Totals by network group and period." }),
  })
  .meta({ id: "SuperSimUsage" });

/** Usage of a PRO SIM, split by service profile. */
export const proSimUsageSchema = z
  .strictObject({
    ...range,
    usages: z.array(proSimUsageEntry).meta({ description: "Totals by service profile and period." }),
  })
  .meta({ id: "ProSimUsage" });

export type SuperSimUsage = z.output<typeof superSimUsageSchema>;
export type ProSimUsage = z.output<typeof proSimUsageSchema>;

/** Query of the usage of all SIMs. Hours are left out: they would be thousands for each SIM. */
export const usageListQuerySchema = usageQuerySchema.extend({
  ...pageQuerySchema.shape,
  granularity: granularitySchema
    .exclude(["hour"])
    .default("all")
    .meta({ description: "Period of each entry, in UTC." }),
});

/** Usage of one SIM in a list: what is known, or why it is not. */
const listedSim = {
  asset_id: z.string().meta({ description: "UUID of the asset that holds the SIM." }),
  asset_name: z.string().meta({ description: "Name of the asset." }),
  serial_number: z.string().meta({ description: "Serial number of the asset." }),
  sim_type: simTypeSchema.meta({ description: "Which SIM of the asset." }),
  iccid: z.string().meta({ ...iccidSchema.meta() }),
};
const listedUsageSchema = z
  .union([
    z
      .strictObject({
        ...listedSim,
        finalized_until: range.finalized_until,
        as_of: range.as_of,
        usages: z
          .array(z.union([superSimUsageEntry, proSimUsageEntry]))
          .meta({ description: "Totals by network group or service profile, and period." }),
      })
      .meta({ id: "KnownUsage" }),
    z
      .strictObject({
        ...listedSim,
        error: z
          .strictObject({
            code: errorCodeSchema,
            message: z.string().meta({ description: "What is wrong, for people." }),
            details: anyObject.exactOptional().meta({ description: "More about the error." }),
          })
          .meta({ description: "Why the usage of this SIM is not known, such as an operator that does not answer." }),
      })
      .meta({ id: "UnknownUsage" }),
  ])
  .meta({ id: "ListedUsage" });
export type ListedUsage = z.output<typeof listedUsageSchema>;

/** Response of Get Usages. */
export const usageListSchema = z
  .strictObject({
    start_time: range.start_time,
    end_time: range.end_time,
    sims: z.array(listedUsageSchema).meta({ description: "In the order in which their assets were registered." }),
    next_cursor: z.string().nullable().meta({ description: "Cursor of the next page; `null` on the last one." }),
  })
  .meta({ id: "UsageList" });
export type UsageList = z.output<typeof usageListSchema>;

/** Usage of a SIM of either type. */
export const usageSchema = z.union([superSimUsageSchema, proSimUsageSchema]);
