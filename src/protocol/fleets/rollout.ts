import { z } from "zod";
import { errorCodeSchema } from "../deployments/deployment-event.ts";
import { rolloutStrategySchema, rolloutStrategyUpdateSchema } from "./rollout-strategy.ts";
import { unixSeconds } from "../values/scalars.ts";

/*
 * Rollouts and their targets as clients see them.
 */

export const rolloutStateSchema = z
  .enum([
    "draft",
    "awaiting_approval",
    "running",
    "paused",
    "succeeded",
    "failed",
    "cancelled",
    "superseded",
    "rolling_back",
    "rolled_back",
  ])
  .meta({ id: "RolloutState", description: "State of a rollout." });
export type RolloutState = z.output<typeof rolloutStateSchema>;

export const targetStateSchema = z
  .enum([
    "pending",
    "waiting",
    "deploying",
    "soaking",
    "succeeded",
    "failed",
    "changed_by_hand",
    "refused",
    "lost",
    "deferred",
    "skipped",
    "rolled_back",
  ])
  .meta({ id: "RolloutTargetState", description: "State of a target of a rollout." });
export type TargetState = z.output<typeof targetStateSchema>;

/** What became of an attempt. */
const pastAttemptStateSchema = z.enum([...targetStateSchema.options, "not_counted"]);
export type PastAttemptState = z.output<typeof pastAttemptStateSchema>;

export const waitReasonSchema = z.enum([
  "connection",
  "acceptance",
  "window",
  "budget",
  "hold",
  "conflict",
  "variable",
  "clock",
  "deployment",
]);
export type WaitReason = z.output<typeof waitReasonSchema>;

/** What a rollout as a whole waits for: a command of people. */
const commandReason = z.enum(["start", "approval", "advance", "resume"]);
export type WaitingReason = WaitReason | z.output<typeof commandReason>;

/** Something that a rollout, or some of its targets, wait for. */
export const waitingSchema = z
  .strictObject({
    for: z.enum([...commandReason.options, ...waitReasonSchema.options]).meta({
      description:
        "A command of people: `start`, `approval`, `advance` or `resume`. Or what targets wait for: people have to end a `hold`, a " +
        "`conflict` with another fleet, a missing `variable`, or missing `acceptance`; the others end by themselves.",
    }),
    count: z.int().min(0).meta({ description: "Number of targets that wait for it." }),
    since: unixSeconds("Since when the first of them does.").optional(),
    until: unixSeconds("When the first of them is looked at again at the latest.").optional(),
    message: z.string().optional().meta({ description: "What is in the way there, for people." }),
  })
  .meta({ id: "RolloutWaiting" });
export type WaitingBody = z.output<typeof waitingSchema>;

const standing = {
  waiting_for: z.array(waitingSchema).meta({
    description: "What it waits for: a command of people first, then what its targets wait for. Empty once it is over.",
  }),
  waits_for_people: z.boolean().meta({
    description: "Whether nothing more happens, apart from the end of what is under way, before people do something.",
  }),
};

const count = z.int().min(0);

/** Number of targets by state; a state that no target is in is left out. */
export const targetCountsSchema = z
  .partialRecord(targetStateSchema, count)
  .meta({ id: "TargetCounts", description: "Number of targets by state." });
export type TargetCounts = z.output<typeof targetCountsSchema>;

/** Who made or approved something, with its name at that time. */
export const actorSchema = z
  .strictObject({
    kind: z.enum(["user", "key", "command_line", "service"]).meta({ description: "What acted." }),
    id: z.string().meta({ description: "Its id." }),
    name: z.string().optional().meta({ description: "Its name at that time." }),
    origin: z.string().optional().meta({
      description:
        "Of a key: the user, or the first of a line of keys, that answers for it. It cannot approve its own rollout.",
    }),
  })
  .meta({ id: "Actor" });

/** What is known of a rollout before it begins. */
export const foreseenSchema = z
  .strictObject({
    waiting_for: z
      .array(waitingSchema)
      .meta({ description: "What its assets would wait for if it were their turn now." }),
    refused: count.meta({ description: "Number of assets that cannot get it, since their agent is too old." }),
    left: count.meta({ description: "Number of assets that left the fleet since the plan was made." }),
    joined: count.meta({ description: "Number of assets that joined since then. They are in the last wave." }),
  })
  .meta({ id: "RolloutForesight", description: "In the response to its creation: what is known before it begins." });
export type ForeseenBody = z.output<typeof foreseenSchema>;

const rolloutWaveSchema = z
  .strictObject({
    wave: z.int().min(1).meta({ description: "Number of the wave, from 1." }),
    targets: count.meta({ description: "Number of its targets." }),
    counts: targetCountsSchema,
    advance: z.enum(["auto", "manual"]).meta({ description: "How the wave after it begins." }),
    soak_s: count.meta({ description: "How long apps have to stay up on each of its targets, in seconds." }),
  })
  .meta({ id: "RolloutWave" });

/** Failed attempts with one code. */
const failureCountSchema = z
  .strictObject({
    code: errorCodeSchema
      .nullable()
      .meta({ description: "The error code; null: what runs was not what was deployed." }),
    attempts: count.meta({ description: "Number of attempts that failed with it." }),
    assets: count.meta({ description: "Number of assets on which one did." }),
  })
  .meta({ id: "RolloutFailureCount" });

export const rolloutSchema = z
  .strictObject({
    id: z.string().meta({ description: "Id of the rollout.", examples: ["rol_01KAN9BZ5V3S0Y4M6T8R2X7Q1C"] }),
    fleet: z.string().meta({ description: "Name of the fleet." }),
    retry_of: z.string().nullable().meta({
      description: "The rollout whose failed assets alone it takes; null: it takes all members.",
    }),
    revision: z.int().min(1).meta({ description: "Number of the revision that it brings to the members." }),
    previous_revision: z
      .int()
      .min(1)
      .nullable()
      .meta({ description: "Revision that going back goes to; null: going back removes the apps." }),
    state: rolloutStateSchema.meta({ description: "State of the rollout." }),
    reason: z.string().nullable().meta({ description: "Why it is paused, going back or ended, for people." }),
    strategy: rolloutStrategySchema.meta({ description: "How it goes." }),
    wave: z.int().min(1).meta({ description: "Number of the wave that is under way, from 1." }),
    waves: z.array(rolloutWaveSchema).meta({ description: "The waves; the last one has all that are in no other." }),
    targets: count.meta({ description: "Number of its targets." }),
    counts: targetCountsSchema,
    ...standing,
    foreseen: foreseenSchema.optional(),
    failures: z.array(failureCountSchema).meta({
      description:
        "Attempts that have failed on their way to the revision, by code, the most frequent first; also those of assets that another " +
        "attempt has brought there, or that have gone back.",
    }),
    created_at: unixSeconds("When it was made."),
    created_by: actorSchema.meta({ description: "Who made it." }),
    approved_by: actorSchema.nullable().meta({ description: "Who approved it; null: it is not approved." }),
    started_at: unixSeconds("When it was started.").nullable(),
    finished_at: unixSeconds("When it ended.").nullable(),
  })
  .meta({ id: "Rollout" });
export type RolloutBody = z.output<typeof rolloutSchema>;

const directionSchema = z
  .enum(["forward", "back"])
  .meta({ description: "`forward`: to the rollout's revision. `back`: to the one before." });

const pastAttemptSchema = z
  .strictObject({
    direction: directionSchema,
    attempt: z.int().min(1).meta({ description: "Its number in this direction." }),
    state: pastAttemptStateSchema.meta({
      description:
        "What the target was at its end. `failed` also where another attempt followed. `not_counted`: it has said nothing about the " +
        "revision, such as because it did not reach the device, and is no failure.",
    }),
    code: errorCodeSchema.optional().meta({ description: "What went wrong." }),
    message: z.string().optional().meta({ description: "What happened, for people." }),
    deployment_id: z.string().optional().meta({ description: "Its deployment." }),
    begun_at: unixSeconds("When it was begun.").optional(),
    ended_at: unixSeconds("When it ended."),
    logs: z.string().optional().meta({ description: "The last lines of the output of the app that failed." }),
  })
  .meta({ id: "RolloutAttempt" });

export const targetSchema = z
  .strictObject({
    asset_id: z.string().meta({ description: "UUID of the asset." }),
    serial_number: z.string().meta({ description: "Serial number of the asset." }),
    asset_name: z.string().meta({ description: "Name of the asset." }),
    wave: z.int().min(1).meta({ description: "Number of its wave, from 1." }),
    state: targetStateSchema.meta({ description: "Its state." }),
    for: waitReasonSchema.optional().meta({ description: "With `waiting`: what it waits for." }),
    until: unixSeconds("With `waiting`, where it is known: until when at the latest.").optional(),
    direction: directionSchema,
    attempt: count.meta({
      description:
        "Number of the latest attempt in its direction; 0 before the first. 0 with `rolled_back`: it still ran the revision before, " +
        "and needed no deployment to go back.",
    }),
    deployment_id: z.string().optional().meta({ description: "Deployment of that attempt." }),
    code: errorCodeSchema.optional().meta({ description: "With `failed`, `refused` and `lost`: why." }),
    message: z.string().optional().meta({ description: "What happened, for people." }),
    since: unixSeconds("When it came into this state."),
    attempts: z.array(pastAttemptSchema).meta({
      description:
        "Attempts that have failed, and all that the rollout went back from, the oldest first. They stay on record whatever the " +
        "target is by now; at most 10 in each direction.",
    }),
  })
  .meta({ id: "RolloutTarget" });
export type TargetBody = z.output<typeof targetSchema>;

/** What a retry of a rollout would take. */
export const retryPlanSchema = z
  .strictObject({
    revision: z.int().min(1).meta({ description: "Number of the revision that it brings." }),
    assets: count.meta({ description: "Number of assets that it brings the revision to." }),
    current: count.meta({ description: "Number of assets that have failed and run the revision by now: left out." }),
    left: count.meta({ description: "Number of assets that have failed and are not in the fleet any more: left out." }),
    superseded: z
      .strictObject({
        id: z.string().meta({ description: "Id of the rollout." }),
        revision: z.int().min(1).meta({ description: "The revision that it brings to the members." }),
        state: rolloutStateSchema.meta({ description: "State of the rollout." }),
      })
      .nullable()
      .meta({ description: "The rollout under way that it supersedes; null: none is." }),
    under_way: z
      .string()
      .nullable()
      .meta({ description: "Id of the same retry, if it is under way: then no other is made. Otherwise null." }),
  })
  .meta({ id: "RolloutRetryPlan" });
export type RetryPlanBody = z.output<typeof retryPlanSchema>;

/** Body of a request that makes a rollout. */
export const rolloutRequestSchema = z
  .strictObject({
    revision: z
      .int()
      .min(1)
      .exactOptional()
      .meta({ description: "Revision to bring to the members; by default the newest." }),
    strategy: rolloutStrategyUpdateSchema.exactOptional().meta({
      description: "What differs from the fleet's strategy, for this rollout only.",
    }),
    plan_id: z
      .string()
      .regex(/^pln_[0-9a-f]{1,64}$/, "must be the id of a plan")
      .exactOptional()
      .meta({
        description:
          "Plan to start, as a dry run has returned it: the rollout has its revision, its strategy and its waves. Members that left " +
          "since are in none, members that joined in the last.",
      }),
    start: z
      .boolean()
      .default(true)
      .meta({ description: "Whether it starts at once; otherwise it stays a draft until it is resumed." }),
  })
  .refine(
    ({ plan_id: id, revision, strategy }) => id === undefined || (revision === undefined && strategy === undefined),
    {
      path: ["plan_id"],
      message: "has its revision and its strategy: leave these out",
    },
  )
  .meta({ id: "RolloutRequest", examples: [{ revision: 3 }] });
export type RolloutRequest = z.output<typeof rolloutRequestSchema>;

/** One event of a rollout's stream. */
export const rolloutEventSchema = z
  .strictObject({
    status: z.enum(["Running", "Success", "Fail"]).meta({
      description: "`Running` any number of times, then `Success` or `Fail`, which is the last event.",
    }),
    message: z.string().meta({ description: "What happened, for people." }),
    rollout_id: z.string().meta({ description: "Id of the rollout." }),
    seq: z.int().min(1).meta({ description: "Number of the event, from 1, without gaps." }),
    timestamp: z.int().meta({ description: "When it happened. Unix seconds, UTC." }),
    state: rolloutStateSchema.meta({ description: "State of the rollout." }),
    wave: z.int().min(1).meta({ description: "Number of the wave that is under way, from 1." }),
    counts: targetCountsSchema,
    ...standing,
    code: errorCodeSchema.optional().meta({ description: "With `Fail`: the error code." }),
  })
  .meta({ id: "RolloutEvent" });
export type RolloutEvent = z.output<typeof rolloutEventSchema>;
