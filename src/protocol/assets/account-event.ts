import { z } from "zod";
import { rolloutStateSchema } from "../fleets/rollout.ts";
import { deploymentActionSchema } from "../deployments/deployment-action.ts";
import { unixSeconds } from "../values/scalars.ts";
import { attentionReasonSchema } from "./attention.ts";
import { memberStateSchema } from "../fleets/fleet-member.ts";
import { deploymentStepSchema, deploymentStatusSchema, errorCodeSchema } from "../deployments/deployment-event.ts";

const asset = { asset_id: z.string().meta({ description: "UUID of the asset." }) };
const numbered = {
  id: z.string().meta({ description: "Number of the event, which only rises in an account.", examples: ["4711"] }),
  timestamp: unixSeconds("When it happened."),
};
/** The `type` of an event, with what it means. */
const typed = <T extends string>(type: T, description: string) => ({
  ...numbered,
  type: z.literal(type).meta({ description }),
});
const attention = z.array(attentionReasonSchema);
const attentionOfAway =
  "Why the asset needs attention from now on, except that its device may not have been seen for long.";
const deployment = {
  ...asset,
  deployment_id: z.string().meta({ description: "Id of the deployment." }),
  app: z.string().meta({ description: "The app, or the group of a deployment with action `apply`." }),
  action: deploymentActionSchema,
};

/** An event that a page shows live. It says what changed; values that are not in a list's row are fetched. */
export const accountEventSchema = z
  .discriminatedUnion("type", [
    z.strictObject({
      ...typed("device.connected", "A device has connected."),
      ...asset,
      agent_version: z.string().meta({ description: "Version of its agent." }),
    }),
    z.strictObject({
      ...typed("device.disconnected", "A device is no longer connected."),
      ...asset,
      last_seen: z
        .int()
        .min(0)
        .optional()
        .meta({ description: "When it was last known to be connected. Unix seconds, UTC." }),
    }),
    z.strictObject({
      ...typed(
        "device.reported",
        "A device has reported a change of itself or its apps, or that its data budget is spent or no longer is.",
      ),
      ...asset,
      attention: attention.meta({ description: "Why the asset needs attention." }),
    }),
    z.strictObject({
      ...typed("device.replaced", "Another device has connected in the place of the one in service, with a code."),
      ...asset,
      attention: attention.meta({ description: attentionOfAway }),
    }),
    z.strictObject({
      ...typed("asset.accepted", "The device of an asset was accepted: what fleets have for it may be delivered."),
      ...asset,
      attention: attention.meta({ description: attentionOfAway }),
    }),
    z.strictObject({
      ...typed("deployment.started", "A deployment was accepted."),
      ...deployment,
      attention: attention.optional().meta({ description: attentionOfAway }),
    }),
    z.strictObject({
      ...typed("deployment.moved", "A deployment has come to another step, waits for its device, or no longer waits."),
      ...deployment,
      step: deploymentStepSchema.meta({ description: "The step." }),
      attention: attention
        .optional()
        .meta({ description: `${attentionOfAway} Absent if it now waits for its device no more or less than before.` }),
    }),
    z.strictObject({
      ...typed("deployment.ended", "A deployment has ended."),
      ...deployment,
      status: deploymentStatusSchema.meta({ description: "`Success` or `Fail`." }),
      code: errorCodeSchema.optional().meta({ description: "With `Fail`: the error code." }),
      attention: attention.optional().meta({ description: attentionOfAway }),
    }),
    z.strictObject({ ...typed("asset.registered", "An asset was registered."), ...asset }),
    z.strictObject({
      ...typed("asset.changed", "An asset was renamed, or its tags, variables or hold were changed."),
      ...asset,
    }),
    z.strictObject({ ...typed("asset.removed", "An asset was removed."), ...asset }),
    z.strictObject({
      ...typed(
        "sim.changed",
        "The status or the network group of a SIM, or what is to be said of its data plan, has changed.",
      ),
      ...asset,
      attention: attention.optional().meta({ description: `${attentionOfAway} Only of a change of its data plan.` }),
    }),
    z.strictObject({
      ...typed("fleet.changed", "A fleet was created, changed or removed, or has a new revision."),
      fleet: z.string().meta({ description: "Name of the fleet." }),
    }),
    z.strictObject({
      ...typed(
        "member.changed",
        "A member of a fleet is `drifted`, `missing` or `stopped_by_hand` from now on, or no longer is.",
      ),
      fleet: z.string().meta({ description: "Name of the fleet." }),
      ...asset,
      state: memberStateSchema,
      previous: memberStateSchema.optional().meta({ description: "Its state before; absent if it had none." }),
      message: z.string().optional().meta({ description: "What is the matter, for people." }),
      attention: attention.meta({ description: attentionOfAway }),
    }),
    z.strictObject({
      ...typed(
        "rollout.changed",
        "A rollout was created, has changed its state or its wave, or begins or ends to wait for people.",
      ),
      fleet: z.string().meta({ description: "Name of the fleet." }),
      rollout_id: z.string().meta({ description: "Id of the rollout." }),
      state: rolloutStateSchema.meta({ description: "State of the rollout." }),
      waits_for_people: z.boolean().meta({ description: "Whether nothing more happens before people do something." }),
    }),
    z.strictObject({
      ...typed("alert.changed", "Alerts have fired, are over, were acknowledged, or are told of in a group."),
    }),
    z.strictObject({
      ...typed("user.changed", "A user was invited, changed or removed."),
      user_id: z.string().meta({ description: "Id of the user." }),
    }),
    z.strictObject({
      ...typed("key.changed", "An API key was created, changed or revoked."),
      key_id: z.string().meta({ description: "Id of the key." }),
    }),
  ])
  .meta({ id: "AccountEvent", description: "Something of the account that a page shows live." });
export type AccountEvent = z.output<typeof accountEventSchema>;

/** What the stream of an account says besides its events. */
export const accountStreamNoteSchema = z
  .discriminatedUnion("type", [
    z.strictObject({ type: z.literal("hello").meta({ description: "The stream begins." }), id: numbered.id }),
    z.strictObject({
      type: z.literal("reset").meta({ description: "Events are missing: fetch again what is shown." }),
      id: numbered.id,
    }),
  ])
  .meta({
    id: "AccountStreamNote",
    description:
      "`hello`: the stream begins after this id. `reset`: events between the requested id and this one are no longer kept, or never were; fetch again what is shown.",
  });
export type AccountStreamNote = z.output<typeof accountStreamNoteSchema>;
