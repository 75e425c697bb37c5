import { z } from "zod";
import { unixSeconds } from "../values/scalars.ts";

/** Response of List Agent Releases. */
export const agentReleaseListSchema = z
  .strictObject({
    agent_releases: z
      .array(
        z.strictObject({
          version: z.string().meta({ description: "As the request to update an agent takes it." }),
          digest: z.string().meta({ description: "Of the image index that was signed." }),
          images: z
            .array(
              z.strictObject({
                architecture: z.string().meta({ description: "Such as `arm64`." }),
                bytes: z.int().meta({ description: "What a device downloads that has nothing of it." }),
                unpacked_bytes: z.int().meta({ description: "What it takes on the disk of the device." }),
              }),
            )
            .meta({ description: "One for each architecture." }),
          added_at: unixSeconds("When it was added to the service."),
        }),
      )
      .meta({ description: "The last one that was added first." }),
  })
  .meta({ id: "AgentReleaseList" });
export type AgentReleaseList = z.output<typeof agentReleaseListSchema>;

/** Response of Get Agent Settings, and body of Change Agent Settings. */
export const agentSettingsSchema = z
  .strictObject({
    operators_update: z.boolean().meta({
      description: "Whether operators may update agents (`agents.update`), and not only admins. `false` unless set.",
    }),
  })
  .meta({ id: "AgentSettings", examples: [{ operators_update: false }] });
export type AgentSettings = z.output<typeof agentSettingsSchema>;
