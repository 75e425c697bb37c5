import { z } from "zod";
import { deploymentActionSchema } from "./deployment-action.ts";
import { attentionReasonSchema } from "./attention.ts";
import { deploymentStepSchema, deploymentStatusSchema, errorCodeSchema } from "./deployment-event.ts";

const asset = { asset_id: z.string().meta({ description: "UUID of the asset." }) };
const numbered = {
  id: z.string().meta({ description: "Number of the event, which only rises in an account.", examples: ["4711"] }),
  at_ms: z.int().min(0).meta({ description: "When it happened. Unix milliseconds, UTC." }),
};
const deployment = {
  ...asset,
  deployment_id: z.string(),
  app: z.string().meta({ description: "The app, or the group of a deployment with action `apply`." }),
  action: deploymentActionSchema,
};

/** An event that a page shows live. It says what changed; values that are not in a list's row are fetched. */
export const accountEventSchema = z
  .discriminatedUnion("type", [
    z.strictObject({ ...numbered, type: z.literal("device.connected"), ...asset, agent_version: z.string() }),
    z.strictObject({ ...numbered, type: z.literal("device.disconnected"), ...asset }),
    z.strictObject({
      ...numbered,
      type: z.literal("device.reported"),
      ...asset,
      attention: z.array(attentionReasonSchema),
    }),
    z.strictObject({ ...numbered, type: z.literal("deployment.started"), ...deployment }),
    z.strictObject({ ...numbered, type: z.literal("deployment.moved"), ...deployment, step: deploymentStepSchema }),
    z.strictObject({
      ...numbered,
      type: z.literal("deployment.ended"),
      ...deployment,
      status: deploymentStatusSchema,
      code: errorCodeSchema.optional(),
    }),
    z.strictObject({ ...numbered, type: z.literal("asset.registered"), ...asset }),
    z.strictObject({ ...numbered, type: z.literal("asset.changed"), ...asset }),
    z.strictObject({ ...numbered, type: z.literal("asset.removed"), ...asset }),
    z.strictObject({ ...numbered, type: z.literal("sim.changed"), ...asset }),
    z.strictObject({ ...numbered, type: z.literal("user.changed"), user_id: z.string() }),
    z.strictObject({ ...numbered, type: z.literal("key.changed"), key_id: z.string() }),
  ])
  .meta({ id: "AccountEvent", description: "Something of the account that a page shows live." });
export type AccountEvent = z.output<typeof accountEventSchema>;

/** What the stream of an account says besides its events. */
export const accountStreamNoteSchema = z
  .discriminatedUnion("type", [
    z.strictObject({ type: z.literal("hello"), id: numbered.id }),
    z.strictObject({ type: z.literal("reset"), id: numbered.id }),
  ])
  .meta({
    id: "AccountStreamNote",
    description:
      "`hello`: the stream begins after this id. `reset`: events between the requested id and this one are no longer kept, or never were; fetch again what is shown.",
  });
export type AccountStreamNote = z.output<typeof accountStreamNoteSchema>;
