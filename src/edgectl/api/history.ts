import { z } from "zod";
import type { UptimePeriod } from "../../protocol/assets/connectivity.ts";
import type { ApiClient } from "./client.ts";
import { requestOf } from "./request.ts";

const spanSchema = z.looseObject({
  state: z.string(),
  from: z.number(),
  /** `null`: it goes on. */
  to: z.number().nullable(),
  duration_s: z.number(),
  reason: z.string().optional(),
  takeovers: z.number().default(0),
  interruptions: z.number().default(0),
  interrupted_s: z.number().default(0),
});
export type ConnectivitySpan = z.output<typeof spanSchema>;

const connectivitySchema = z.looseObject({ spans: z.array(spanSchema), next_cursor: z.string().nullable() });

const uptimeSchema = z.looseObject({
  from: z.number(),
  to: z.number(),
  known_s: z.number(),
  connected_s: z.number(),
  uptime_percent: z.number().nullable(),
  disconnections: z.number(),
  longest_gap_s: z.number(),
});
export type Uptime = z.output<typeof uptimeSchema>;

const assetUptimeSchema = z.looseObject({ total: uptimeSchema, periods: z.array(uptimeSchema) });
export type AssetUptime = z.output<typeof assetUptimeSchema>;

const values = z.array(z.number().nullable());
const peaks = z.looseObject({ mean: values, max: values });
const healthSchema = z.looseObject({
  source: z.string(),
  interval_s: z.number(),
  at: z.array(z.number()),
  series: z.array(z.looseObject({ metric: z.string(), mean: values, max: values })),
  apps: z
    .looseObject({
      interval_s: z.number(),
      at: z.array(z.number()),
      apps: z.array(z.looseObject({ app: z.string(), cpu_percent: peaks, memory_bytes: peaks, restarts: values })),
      omitted_apps: z.number(),
    })
    .exactOptional(),
});
export type AssetHealth = z.output<typeof healthSchema>;

/** Unix seconds. */
interface Range {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/** Fetches how long the device was connected, in the range and by period. */
export function getUptime(
  client: ApiClient,
  asset: string,
  query: Range & { readonly per: UptimePeriod },
): Promise<AssetUptime> {
  const options = { path: { asset_id: asset }, query };
  return client.json(requestOf("GET /v1/assets/{asset_id}/uptime", options), assetUptimeSchema);
}

/** Fetches one page of when the device was connected, the newest first. */
export function getConnectivity(
  client: ApiClient,
  asset: string,
  query: Range & { readonly limit: number | undefined; readonly cursor: string | undefined },
): Promise<z.output<typeof connectivitySchema>> {
  const options = { path: { asset_id: asset }, query };
  return client.json(requestOf("GET /v1/assets/{asset_id}/connectivity", options), connectivitySchema);
}

/** Fetches how the device was, in columns, the oldest point first. */
export function getHealth(
  client: ApiClient,
  asset: string,
  {
    from,
    to,
    points,
    source,
    apps,
  }: Range & { readonly points: number; readonly source?: string | undefined; readonly apps?: boolean | undefined },
): Promise<AssetHealth> {
  const options = { path: { asset_id: asset }, query: { from, to, points, source, ...(apps && { apps: "true" }) } };
  return client.json(requestOf("GET /v1/assets/{asset_id}/health", options), healthSchema);
}
