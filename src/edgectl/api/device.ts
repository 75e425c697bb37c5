import { z } from "zod";
import type { ApiClient } from "./client.ts";
import { apiPath } from "./path.ts";

const optional = z.number().nullish();

const interfaceSchema = z.looseObject({
  name: z.string(),
  kind: z.string().optional(),
  is_up: z.boolean().optional(),
  addresses: z.array(z.string()).default([]),
  received_bytes: optional,
  sent_bytes: optional,
});
export type DeviceInterface = z.output<typeof interfaceSchema>;

const deviceSchema = z.looseObject({
  agent_version: z.string().nullish(),
  engine: z.looseObject({ kind: z.string(), version: z.string() }).nullish(),
  architecture: z.string().nullish(),
  os: z.string().nullish(),
  kernel: z.string().nullish(),
  hostname: z.string().nullish(),
  model: z.string().nullish(),
  cpus: optional,
  memory_total_bytes: optional,
  memory_available_bytes: optional,
  disk_total_bytes: optional,
  disk_free_bytes: optional,
  uptime_s: optional,
  agent_uptime_s: optional,
  cpu_percent: optional,
  load_1m: optional,
  temperature_celsius: optional,
  interfaces: z.array(interfaceSchema).default([]),
  containers: z
    .array(z.looseObject({ name: z.string(), app: z.string().nullish(), image: z.string(), status: z.string() }))
    .default([]),
});
export type Device = z.output<typeof deviceSchema>;

const deviceResponseSchema = z.looseObject({
  reachable: z.boolean(),
  last_seen: optional,
  live: z.boolean().default(false),
  reported_at: z.number().nullable().default(null),
  device: deviceSchema.nullable(),
});
export type DeviceResponse = z.output<typeof deviceResponseSchema>;

/** Fetches the device's current state if it is reachable, otherwise its last report. */
export function getDevice(client: ApiClient, asset: string): Promise<DeviceResponse> {
  return client.json({ path: apiPath("v1", "assets", asset, "edge", "device") }, deviceResponseSchema);
}
