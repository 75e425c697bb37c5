import { z } from "zod";
import { newAppName } from "../apps/app-fields.ts";
import { MAX_APPLY_APPS } from "../apps/apply.ts";
import { displayText } from "../values/sanitized-text.ts";
import { memberCountsSchema, memberDifferenceSchema, memberStateSchema } from "./fleet-member.ts";
import { rolloutStateSchema } from "./rollout.ts";
import { rolloutStrategySchema, rolloutStrategyUpdateSchema } from "./rollout-strategy.ts";
import { booleanString, unixSeconds } from "../values/scalars.ts";
import { selectorSchema } from "./selector.ts";

/*
 * Fleets as clients see them: one set of apps that is brought to every asset a selector matches.
 */

const fleetNameSchema = z
  .string()
  .regex(
    /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/,
    "must be 1 to 63 lowercase letters, digits or '-', beginning and ending with a letter or digit",
  )
  .meta({ description: "Name of the fleet, unique in the account.", examples: ["kiosks"] });

const fleetApps = z
  .array(newAppName)
  .max(MAX_APPLY_APPS)
  .superRefine((names, context) => {
    for (const [index, name] of names.entries()) {
      if (names.indexOf(name) !== index) context.addIssue({ code: "custom", path: [index], message: "appears twice" });
    }
  })
  .meta({
    description:
      "Names of the apps that the fleet owns on its members. Its revisions name no other apps. None: its revisions are about the " +
      "agent only.",
    examples: [["kiosk-ui", "mosquitto"]],
  });

export const onDriftSchema = z.enum(["report", "repair"]).meta({
  description:
    "What happens to members that are `drifted` or `missing`. `report`: they are shown. `repair`: the fleet also puts them right by " +
    "itself, within its windows and budgets, never while the asset is held, and with longer pauses each time.",
});
export type OnDrift = z.output<typeof onDriftSchema>;

const revisionNumber = z.int().min(1);
const pausedReason = displayText(1, 256);

/** The newest rollout of a fleet, in short. */
const currentRolloutSchema = z
  .strictObject({
    id: z.string().meta({ description: "Id of the rollout." }),
    revision: revisionNumber.meta({ description: "The revision that it brings to the members." }),
    state: rolloutStateSchema.meta({ description: "State of the rollout." }),
  })
  .meta({ id: "FleetRollout" });

const fields = {
  id: z.string().meta({ description: "Id of the fleet.", examples: ["flt_2f6c1d9e8a7b4c3d5e6f7a8b"] }),
  name: fleetNameSchema,
  selector: selectorSchema,
  apps: fleetApps,
  strategy: rolloutStrategySchema.meta({ description: "How its rollouts go, unless a rollout says otherwise." }),
  on_drift: onDriftSchema,
  stable_revision: revisionNumber.nullable().meta({
    description: "What every member should run; null before the first rollout has succeeded.",
  }),
  last_revision: z.int().min(0).meta({ description: "Number of the newest revision; 0 before the first." }),
  paused_reason: z
    .string()
    .nullable()
    .meta({ description: "Why nothing of the fleet goes out until it is resumed; null: it does." }),
  latest_rollout: currentRolloutSchema
    .nullable()
    .meta({ description: "The newest rollout; null if there was none, or none is kept." }),
  states: memberCountsSchema,
  created_at: unixSeconds("When the fleet was created."),
};

/** A fleet in a list. */
export const fleetListItemSchema = z.strictObject(fields).meta({ id: "FleetListItem" });
export type FleetListItem = z.output<typeof fleetListItemSchema>;

/** A fleet with the number of its members. */
export const fleetSchema = z
  .strictObject({
    ...fields,
    members: z.int().min(0).meta({ description: "Number of assets that the selector matches now." }),
    owned_assets: z.int().min(0).meta({
      description: "Number of assets on which apps belong to the fleet: it has brought them, or begun to.",
    }),
  })
  .meta({ id: "Fleet" });
export type FleetBody = z.output<typeof fleetSchema>;

const nextCursor = z.string().nullable().meta({ description: "Cursor of the next page; `null` on the last one." });

/** Response of Get Fleets. */
export const fleetListSchema = z
  .strictObject({
    fleets: z.array(fleetListItemSchema).meta({ description: "The fleets of this page, by name." }),
    next_cursor: nextCursor,
  })
  .meta({ id: "FleetList" });
export type FleetList = z.output<typeof fleetListSchema>;

const example = {
  name: "kiosks",
  selector: "role=kiosk,region!=south",
  apps: ["kiosk-ui", "mosquitto"],
};

/** Body of Create Fleet. */
export const fleetCreationSchema = z
  .strictObject({
    name: fleetNameSchema,
    selector: selectorSchema,
    apps: fleetApps,
    strategy: rolloutStrategySchema.prefault({}).meta({ description: "How its rollouts go." }),
    on_drift: onDriftSchema.default("report"),
  })
  .meta({ id: "FleetCreation", examples: [example] });

/** Body of Update Fleet. Omitted fields keep their values; at least one field is required. */
export const fleetUpdateSchema = z
  .strictObject({
    name: fleetNameSchema,
    selector: selectorSchema,
    apps: fleetApps,
    strategy: rolloutStrategyUpdateSchema.meta({ description: "Fields of the strategy to change; others stay." }),
    on_drift: onDriftSchema,
    paused_reason: pausedReason.nullable().meta({
      description: "A text stops everything of the fleet that has not begun, for this reason; `null` lets it go on.",
    }),
  })
  .partial()
  .meta({
    id: "FleetUpdate",
    minProperties: 1,
    examples: [{ selector: "role=kiosk", strategy: { max_parallel: 20 } }],
  });

/** Most members that a dry run of Reapply lists. */
export const MAX_LISTED_REAPPLIED = 1_000;

/** Query of Reapply. */
export const reapplyQuerySchema = z.strictObject({
  dry_run: booleanString()
    .optional()
    .meta({ description: "With `true`, nothing is changed: the response says which members would be put right." }),
});

/** Body of Reapply. */
export const reapplyRequestSchema = z
  .strictObject({
    asset_ids: z
      .array(z.string().max(64))
      .min(1)
      .max(1_000)
      .exactOptional()
      .meta({ description: "UUIDs of the members to put right; by default all in one of the states." }),
    states: z
      .array(z.enum(["drifted", "missing", "outdated", "stopped_by_hand"]))
      .min(1)
      .max(4)
      .default(["drifted", "missing"])
      .meta({
        description:
          "Members in these states. With `stopped_by_hand`, apps that a person has stopped are started too; without it they stay " +
          "stopped.",
      }),
  })
  .meta({ id: "ReapplyRequest", examples: [{ asset_ids: ["0b7e5a52-6f0c-4c1e-9a52-0d3f3a0f6c11"] }] });
export type ReapplyRequest = z.output<typeof reapplyRequestSchema>;

const reappliedMemberSchema = z
  .strictObject({
    asset_id: z.string().meta({ description: "UUID of the asset." }),
    asset_name: z.string().meta({ description: "Name of the asset." }),
    serial_number: z.string().meta({ description: "Serial number of the asset." }),
    state: memberStateSchema,
    since: unixSeconds("Since when it is in this state.").nullable(),
    message: z.string().nullable().meta({ description: "What would be put right, for people." }),
    differences: z.array(memberDifferenceSchema).meta({
      description: "How its apps differ from the stable revision, since when, and who did it; at most 10.",
    }),
  })
  .meta({ id: "ReappliedMember" });

/** Response of Reapply. */
export const reapplyResponseSchema = z
  .strictObject({
    assets: z.int().min(0).meta({ description: "Number of members that are put right." }),
    members: z.array(reappliedMemberSchema).meta({
      description: `These members, in the order of their UUIDs; at most ${MAX_LISTED_REAPPLIED}.`,
    }),
  })
  .meta({ id: "ReapplyResponse" });
export type ReapplyResponse = z.output<typeof reapplyResponseSchema>;
