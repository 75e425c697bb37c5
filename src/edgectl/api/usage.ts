import { z } from "zod";
import type { SimType } from "../../protocol/sim.ts";
import type { Granularity } from "../../protocol/usage.ts";
import type { ApiClient } from "./client.ts";
import { apiPath } from "./path.ts";

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

export interface UsageQuery {
  /** Unix seconds. */
  readonly start_time?: number | undefined;
  readonly end_time?: number | undefined;
  readonly granularity: Granularity;
}

/** Totals in bytes. */
export function getUsage(client: ApiClient, asset: string, sim: SimType, query: UsageQuery): Promise<Usage> {
  return client.json({ path: apiPath("v1", "assets", asset, "sims", sim, "usages"), query: { ...query } }, usageSchema);
}
