import { z } from "zod";
import { sanitizedLine } from "../values/sanitized-text.ts";
import { unixSeconds } from "../values/scalars.ts";

/** Maximum number of fields that a change names. */
export const MAX_CHANGED_FIELDS = 20;

/** How an app differs from what it was deployed or applied as, as its device reports it. */
export const appChangeSchema = z
  .object({
    by: z
      .enum(["local", "api", "foreign"])
      .exactOptional()
      .meta({
        description:
          "By whom: `local`, a command on the device; `api`, a request; `foreign`, another tool that has replaced the app's " +
          "container.",
      }),
    what: z
      .array(sanitizedLine(64))
      .max(MAX_CHANGED_FIELDS)
      .exactOptional()
      .meta({ description: "Fields of the specification that differ.", examples: [["image", "environments"]] }),
    since: unixSeconds("When that was noticed first. Absent where the device did not know the time.").exactOptional(),
  })
  .meta({
    id: "AppChange",
    description:
      "How the app differs: from the fleet's revision, if it is of a fleet, or from its own specification, if another tool has " +
      "replaced its container.",
  });
export type AppChange = z.output<typeof appChangeSchema>;
