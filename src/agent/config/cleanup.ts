import { z } from "zod";

/** Which images the agent removes again. Only ones it pulled itself, and that can be pulled once more. */
export const cleanup = z.strictObject({
  enabled: z.boolean().default(true).meta({
    description: "Whether images the agent pulled, and that no app needs any more, are removed by themselves.",
  }),
  keep_images_days: z.number().min(0).max(3650).default(7).meta({
    description: "Days an image is kept after the last app that needed it.",
  }),
  low_disk_percent: z.number().min(0).max(100).default(15).meta({
    description: "With less of the disk free than this, images that no app needs are removed at once.",
  }),
});
