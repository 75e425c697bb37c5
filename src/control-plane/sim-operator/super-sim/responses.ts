import { z } from "zod";

/** Of one page. */
const MAX_RECORDS = 2_000;

// Of the operator's answers only what the service needs: other fields may come and go.

export const SIM_SID = /^HS[0-9a-fA-F]{32}$/;

export const superSimSchema = z.object({
  sid: z.string().regex(SIM_SID),
  iccid: z.string(),
  status: z.string(),
  fleet_sid: z.string().nullish(),
});
export type SuperSimAnswer = z.output<typeof superSimSchema>;

export const fleetSchema = z.object({
  sid: z.string(),
  unique_name: z.string().nullish(),
  data_enabled: z.boolean().nullish(),
  /** Megabytes in a month; 0: not limited. */
  data_limit: z.number().nonnegative().nullish(),
});

const meta = z.object({ next_page_url: z.string().nullish() });

export const usagePageSchema = z.object({
  usage_records: z
    .array(
      z.object({
        fleet_sid: z.string().nullish(),
        period: z.object({ start_time: z.iso.datetime({ offset: true }), end_time: z.iso.datetime({ offset: true }) }),
        data_total: z.int().nonnegative().nullish(),
      }),
    )
    .max(MAX_RECORDS),
  meta,
});

export const tokenSchema = z.object({
  access_token: z.string().min(1),
  token_type: z.string().regex(/^bearer$/i),
  expires_in: z.number().positive().optional(),
});
