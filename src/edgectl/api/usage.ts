import { z } from "zod";
import type { SimType } from "../../protocol/assets/sim.ts";
import type { Granularity } from "../../protocol/assets/usage.ts";
import type { ApiClient } from "./client.ts";
import { requestOf } from "./request.ts";

const usageSchema = z.looseObject({
  start_time: z.number(),
  end_time: z.number(),
  finalized_until: z.number().optional(),
  /** When the operator said the last of it; absent where usage is imported. */
  as_of: z.number().optional(),
  usages: z.array(
    z.looseObject({
      total: z.number(),
      network_group: z.string().optional(),
      service_profile: z.string().optional(),
      start_time: z.number().optional(),
      end_time: z.number().optional(),
    }),
  ),
});
export type Usage = z.output<typeof usageSchema>;
export type UsageEntry = Usage["usages"][number];

interface UsageQuery {
  /** Unix seconds. */
  readonly start_time?: number | undefined;
  readonly end_time?: number | undefined;
  readonly granularity: Granularity;
}

/** Totals in bytes. */
export function getUsage(client: ApiClient, asset: string, sim: SimType, query: UsageQuery): Promise<Usage> {
  const options = { path: { asset_id: asset, sim_type: sim }, query };
  return client.json(requestOf("GET /v1/assets/{asset_id}/sims/{sim_type}/usages", options), usageSchema);
}

const both = z.looseObject({ sent_bytes: z.number().default(0), received_bytes: z.number().default(0) });

const daySchema = z.looseObject({
  day: z.string(),
  by_purpose: z.record(z.string(), both).default({}),
  overhead_estimate_bytes: z.number().default(0),
  by_app: z.record(z.string(), z.number()).default({}),
  interfaces: z.record(z.string(), both).default({}),
});
export type DataUsageDay = z.output<typeof daySchema>;

const simSchema = z.looseObject({
  sim_type: z.string(),
  iccid: z.string().optional(),
  days: z.array(z.looseObject({ day: z.string(), total: z.number() })),
  /** Unix seconds. */
  finalized_until: z.number().optional(),
});

const dataUsageSchema = z.looseObject({
  from: z.string(),
  to: z.string(),
  live: z.boolean().default(false),
  reported_at: z.number().nullable().default(null),
  days: z.array(daySchema),
  budget: z
    .looseObject({
      monthly_bytes: z.number().nullable(),
      daily_bytes: z.number().nullable(),
      used_this_month_bytes: z.number(),
      used_today_bytes: z.number(),
    })
    .nullish(),
  sims: z.array(simSchema).default([]),
});
export type DataUsage = z.output<typeof dataUsageSchema>;

/** Fetches the traffic of the agent and of the whole device. Days are in UTC, `YYYY-MM-DD`, both included. */
export function getDataUsage(
  client: ApiClient,
  asset: string,
  query: { readonly from?: string | undefined; readonly to?: string | undefined },
): Promise<DataUsage> {
  const options = { path: { asset_id: asset }, query };
  return client.json(requestOf("GET /v1/assets/{asset_id}/edge/data-usage", options), dataUsageSchema);
}
