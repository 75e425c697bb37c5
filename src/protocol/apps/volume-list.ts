import { z } from "zod";
import { appName } from "./app-fields.ts";
import { unixSeconds } from "../values/scalars.ts";
import { volumeName } from "./volume-fields.ts";

/** Maximum numbers of volumes in an answer, and of apps of one volume. */
export const MAX_VOLUMES = 500;
export const MAX_VOLUME_APPS = 100;

const use = z.object({
  app: appName.meta({ description: "Name of the app." }),
  readonly: z.boolean().meta({ description: "Whether the app may only read there." }),
});

const listedVolume = z
  .object({
    name: volumeName.meta({ description: "Name of the volume, as in `volumes[].name`." }),
    apps: z
      .array(use)
      .max(MAX_VOLUME_APPS)
      .meta({ description: "Apps that have it. None: it stayed when its app was removed." }),
    apps_left_out: z.int().min(0).meta({ description: "Number of further apps that have it." }),
    size_bytes: z
      .int()
      .min(0)
      .nullable()
      .meta({ description: "Size on disk, if it was asked for and the device could measure it in time." }),
    created_at: unixSeconds("When it was made.").nullable(),
  })
  .meta({ id: "ListedVolume" });

/** The volumes of a device that its agent manages. */
export const volumeListSchema = z.object({
  volumes: z.array(listedVolume).max(MAX_VOLUMES).meta({ description: "By name." }),
  left_out: z
    .int()
    .min(0)
    .meta({ description: `Number of further volumes; at most ${MAX_VOLUMES} are listed.` }),
});
export type VolumeList = z.output<typeof volumeListSchema>;

export const volumesParamsSchema = z.object({
  /** Whether to measure the volumes, for which the engine reads all their directories. */
  size: z.boolean().default(false),
});
export const removeVolumeParamsSchema = z.object({ name: volumeName });
export const volumeRemovedSchema = z.object({ name: volumeName });
