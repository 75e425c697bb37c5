import { z } from "zod";
import type { ApiClient } from "./client.ts";
import { requestOf } from "./request.ts";
import { toServiceFailure } from "./service-failure.ts";

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
  return client.json(
    requestOf("GET /v1/assets/{asset_id}/edge/device", { path: { asset_id: asset } }),
    deviceResponseSchema,
  );
}

const volumeSchema = z.looseObject({
  name: z.string(),
  apps: z.array(z.looseObject({ app: z.string(), readonly: z.boolean().default(false) })).default([]),
  apps_left_out: z.number().default(0),
  size_bytes: z.number().nullish(),
  created_at: z.number().nullish(),
});
export type Volume = z.output<typeof volumeSchema>;

const volumeListSchema = z.looseObject({ volumes: z.array(volumeSchema), left_out: z.number().default(0) });
export type VolumeList = z.output<typeof volumeListSchema>;

/** @param size asks the device to measure them */
export function listVolumes(client: ApiClient, asset: string, size: boolean): Promise<VolumeList> {
  const options = { path: { asset_id: asset }, query: { size: size ? "true" : undefined } };
  return client.json(requestOf("GET /v1/assets/{asset_id}/edge/volumes", options), volumeListSchema);
}

/** Deletes a volume with its data. */
export async function removeVolume(client: ApiClient, asset: string, name: string, signal: AbortSignal): Promise<void> {
  const path = { asset_id: asset, name };
  const response = await client.send(requestOf("DELETE /v1/assets/{asset_id}/edge/volumes/{name}", { path }), signal);
  const text = await client.text(response);
  if (!response.ok) throw toServiceFailure(response, text);
}
