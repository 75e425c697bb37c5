import { z } from "zod";
import type { ApiClient } from "./client.ts";
import { apiPath } from "./path.ts";
import { toServiceFailure } from "./service-failure.ts";

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
  const query = { size: size ? "true" : undefined };
  return client.json({ path: volumesPath(asset), query }, volumeListSchema);
}

/** Deletes a volume with its data. */
export async function removeVolume(client: ApiClient, asset: string, name: string, signal: AbortSignal): Promise<void> {
  const response = await client.send({ method: "DELETE", path: volumesPath(asset, name) }, signal);
  const text = await client.text(response);
  if (!response.ok) throw toServiceFailure(response, text);
}

function volumesPath(asset: string, ...rest: readonly string[]): string {
  return apiPath("v1", "assets", asset, "edge", "volumes", ...rest);
}
