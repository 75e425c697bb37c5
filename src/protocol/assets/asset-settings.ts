import { z } from "zod";
import { displayText } from "../values/sanitized-text.ts";
import { actorSchema } from "../fleets/rollout.ts";
import { unixSeconds } from "../values/scalars.ts";

/*
 * What people set for an asset besides its name: tags (`tags.ts`), variables (`variables.ts`), and holds.
 */

const until = unixSeconds("When the hold ends by itself; without it, when it is released.");
const reason = displayText(1, 256).meta({
  description: "Why, for people.",
  examples: ["Pump test until Thursday"],
});

/** Body of a request that holds an asset. */
export const holdRequestSchema = z
  .strictObject({ reason, until: until.exactOptional() })
  .meta({ id: "HoldRequest", examples: [{ reason: "Pump test until Thursday", until: 1_830_000_000 }] });

/** A hold: nothing but commands of people reaches the asset meanwhile. */
export const holdSchema = z
  .strictObject({
    reason,
    until: until.nullable(),
    set_at: unixSeconds("When it was set."),
    set_by: actorSchema.meta({ description: "Who set it." }),
  })
  .meta({ id: "Hold" });
export type HoldBody = z.output<typeof holdSchema>;
