import { z } from "zod";
import type { ApiClient } from "./client.ts";
import { apiPath } from "./path.ts";
import { anyObject } from "../../protocol/scalars.ts";

const portSchema = z.looseObject({
  host_port: z.number(),
  target_port: z.number(),
  protocol: z.string().optional(),
});

const appSchema = z.looseObject({
  name: z.string(),
  image: z.string(),
  image_digest: z.string().nullish(),
  state: z.string(),
  desired_state: z.string().optional(),
  since: z.number().nullish(),
  restarts: z.number().nullish(),
  paused: z.string().optional(),
  changed: z
    .looseObject({ by: z.string().optional(), what: z.array(z.string()).optional(), since: z.number().optional() })
    .optional(),
  ports: z.array(portSchema).default([]),
  spec: anyObject.default({}),
  last_deployment: z
    .looseObject({ deployment_id: z.string(), action: z.string().optional(), status: z.string() })
    .nullish(),
});
export type App = z.output<typeof appSchema>;

/** How current the data is. */
const freshness = {
  /** Unix seconds; null if the device has never reported. */
  reported_at: z.number().nullable(),
  reachable: z.boolean(),
  /** Seconds; null if the device has never reported. */
  age_s: z.number().nullable().default(null),
};

const appListSchema = z.looseObject({ apps: z.array(appSchema), ...freshness });
export type AppList = z.output<typeof appListSchema>;

const appDetailSchema = appSchema.extend({
  ...freshness,
  /** Absent from older services. */
  reached_as: z.array(z.string()).nullish(),
});
export type AppDetail = z.output<typeof appDetailSchema>;

/** Returns the path of an asset's apps, of one app, or of a resource below it. */
export function appsPath(asset: string, ...rest: readonly string[]): string {
  return apiPath("v1", "assets", asset, "edge", "apps", ...rest);
}

export function listApps(client: ApiClient, asset: string): Promise<AppList> {
  return client.json({ path: appsPath(asset) }, appListSchema);
}

/** @param reveal requests the values of the app's environment from the device; they are masked otherwise */
export function getApp(client: ApiClient, asset: string, app: string, reveal: boolean): Promise<AppDetail> {
  const query = { reveal: reveal ? "environments" : undefined };
  return client.json({ path: appsPath(asset, app), query }, appDetailSchema);
}
