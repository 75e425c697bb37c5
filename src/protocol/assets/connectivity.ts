import { z } from "zod";
import { selectorSchema } from "../fleets/selector.ts";
import { pageQuerySchema } from "../people/users.ts";
import { integerString, MAX_UNIX_SECONDS, unixSeconds } from "../values/scalars.ts";
import { tableFormatSchema } from "../values/table-format.ts";

/** Why a device is not connected: the order is that of the documentation. */
const DISCONNECT_REASONS = ["lost", "closed", "refused", "service"] as const;
export const disconnectReasonSchema = z.enum(DISCONNECT_REASONS).meta({
  id: "DisconnectReason",
  description:
    "`lost`: the connection broke, or the device did not answer. `closed`: the device closed it, as when its agent stops. " +
    "`refused`: the service closed it, since the token was revoked, or the device broke the protocol. `service`: the service, or " +
    "its instance with the connection, stopped.",
});
export type DisconnectReason = z.output<typeof disconnectReasonSchema>;

export function isDisconnectReason(value: unknown): value is DisconnectReason {
  return (DISCONNECT_REASONS as readonly unknown[]).includes(value);
}

/** Maximum range of one query about an asset, and of one about many, in days. */
export const MAX_HISTORY_DAYS = 400;
export const MAX_SUMMARY_DAYS = 92;
/** Without `from`, in days. */
export const DEFAULT_HISTORY_DAYS = 30;

export const uptimePeriodSchema = z.enum(["day", "week", "month"]);
export type UptimePeriod = z.output<typeof uptimePeriodSchema>;

const rangeQuery = (days: number) => ({
  from: integerString(0, MAX_UNIX_SECONDS)
    .optional()
    .meta({ description: `Unix seconds, inclusive; ${DEFAULT_HISTORY_DAYS} days before \`to\` by default.` }),
  to: integerString(0, MAX_UNIX_SECONDS)
    .optional()
    .meta({
      description: `Unix seconds, exclusive; now by default, and at most. At most ${days} days after \`from\`.`,
    }),
});

/** Query of Get Connectivity. */
export const connectivityQuerySchema = z.strictObject({
  ...rangeQuery(MAX_HISTORY_DAYS),
  ...pageQuerySchema.shape,
  format: tableFormatSchema,
});

/** Query of Get Uptime. */
export const uptimeQuerySchema = z.strictObject({
  ...rangeQuery(MAX_HISTORY_DAYS),
  per: uptimePeriodSchema.default("day").meta({ description: "Length of the periods, in UTC; weeks begin on Monday." }),
  format: tableFormatSchema,
});

/** Query of Get Uptime of Assets. */
export const uptimeListQuerySchema = z.strictObject({
  ...rangeQuery(MAX_SUMMARY_DAYS),
  ...pageQuerySchema.shape,
  selector: selectorSchema.optional(),
  fleet: z
    .string()
    .min(1)
    .max(256)
    .optional()
    .meta({ description: "Name or id of a fleet: the assets it selects now." }),
  format: tableFormatSchema,
});

const seconds = (description: string) => z.int().min(0).meta({ description });

const connectivitySpanSchema = z
  .strictObject({
    state: z.enum(["connected", "disconnected"]).meta({ description: "Whether the device was connected." }),
    from: unixSeconds("When it began, or the start of the range."),
    to: unixSeconds("When it ended, or the end of the range; `null` if it goes on now.").nullable(),
    duration_s: seconds("Its length within the range, in seconds."),
    reason: disconnectReasonSchema.exactOptional(),
    takeovers: seconds("How often a new connection replaced one that still counted as open.").exactOptional(),
    interruptions: seconds(
      "Interruptions that the entry has swallowed, since they were short or very many.",
    ).exactOptional(),
    interrupted_s: seconds("How long these took together, in seconds.").exactOptional(),
    longest_interruption_s: seconds("How long the longest of these took, in seconds.").exactOptional(),
  })
  .meta({ id: "ConnectivitySpan" });
export type ConnectivitySpanBody = z.output<typeof connectivitySpanSchema>;

/** Response of Get Connectivity. */
export const connectivitySchema = z
  .strictObject({
    asset_id: z.string().meta({ description: "UUID of the asset." }),
    from: unixSeconds("Start of the range."),
    to: unixSeconds("End of the range."),
    spans: z.array(connectivitySpanSchema).meta({
      description:
        "The newest first, without holes between them. What was before the first connection is not known, and left out.",
    }),
    next_cursor: z.string().nullable().meta({ description: "Cursor of the next page; `null` on the last one." }),
  })
  .meta({ id: "Connectivity" });
export type ConnectivityBody = z.output<typeof connectivitySchema>;

const uptime = {
  known_s: seconds("Seconds of which it is known whether the device was connected."),
  connected_s: seconds("Seconds in which it was."),
  uptime_percent: z
    .number()
    .min(0)
    .max(100)
    .nullable()
    .meta({ description: "Share of the known time, rounded down to hundredths; `null` if nothing is known." }),
  disconnections: seconds("Times without a connection, including those that began before."),
  longest_gap_s: seconds("The longest of these, within the period, in seconds."),
};

const uptimeSchema = z
  .strictObject({ from: unixSeconds("Start."), to: unixSeconds("End."), ...uptime })
  .meta({ id: "Uptime" });
export type UptimeBody = z.output<typeof uptimeSchema>;

/** Response of Get Uptime. */
export const assetUptimeSchema = z
  .strictObject({
    asset_id: z.string().meta({ description: "UUID of the asset." }),
    total: uptimeSchema.meta({ description: "Of the whole range." }),
    periods: z
      .array(uptimeSchema)
      .meta({ description: "The oldest first. The first and the last may be parts of a period." }),
  })
  .meta({ id: "AssetUptime" });
export type AssetUptime = z.output<typeof assetUptimeSchema>;

const listedUptimeSchema = z
  .strictObject({
    asset_id: z.string().meta({ description: "UUID of the asset." }),
    asset_name: z.string().meta({ description: "Name of the asset." }),
    serial_number: z.string().meta({ description: "Serial number of the asset." }),
    ...uptime,
  })
  .meta({ id: "ListedUptime" });
export type ListedUptime = z.output<typeof listedUptimeSchema>;

/** Response of Get Uptime of Assets. */
export const uptimeListSchema = z
  .strictObject({
    from: unixSeconds("Start of the range."),
    to: unixSeconds("End of the range."),
    assets: z.array(listedUptimeSchema).meta({ description: "In the order in which they were registered." }),
    next_cursor: z.string().nullable().meta({ description: "Cursor of the next page; `null` on the last one." }),
  })
  .meta({ id: "UptimeList" });
export type UptimeList = z.output<typeof uptimeListSchema>;
