import { z } from "zod";
import { sanitizedLine } from "../values/sanitized-text.ts";

export const revisionNumber = z
  .int()
  .min(1)
  .meta({ description: "Number of a fleet's revision, from 1.", examples: [7] });

/** The fleet that an app is from, as its device reports it. */
export const appFleetSchema = z
  .object({
    name: sanitizedLine(64).meta({ description: "Name of the fleet.", examples: ["kiosks"] }),
    revision: revisionNumber,
    deployment_id: sanitizedLine(64).meta({ description: "The deployment that applied the revision last." }),
    is_changed: z.boolean().meta({
      description: "Whether the app's specification or image was changed since, other than by the fleet.",
    }),
  })
  .meta({ id: "AppFleet", description: "The fleet's revision that the app was last applied with." });
export type AppFleet = z.output<typeof appFleetSchema>;
