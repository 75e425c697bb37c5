import { z } from "zod";
import { appName, environmentUpdates } from "./app-fields.ts";
import { appFileUpdates } from "./app-files.ts";
import { findHiddenFiles, newAppSpecSchema } from "./app-spec.ts";
import { deliveryOptionFields, deployOptionFields } from "./deploy-request.ts";
import { revisionNumber } from "./app-fleet.ts";
import { applyProblems, type RuledApply } from "./apply-rules.ts";
import { parseImageReference } from "./image-reference.ts";
import { checkOptionRules } from "./option-rules.ts";

/*
 * A group of apps that is applied to a device as one deployment, with action `apply`: the device compares it with what is
 * installed, changes what differs, and restores all of it if one app fails.
 */

/** Maximum number of apps in one group. */
export const MAX_APPLY_APPS = 64;

export { MAX_APPLY_BYTES } from "../limits.ts";

const dependency = z
  .strictObject({
    app: appName.meta({ description: "Name of another app of the request.", examples: ["mosquitto"] }),
    condition: z
      .enum(["started", "healthy", "completed"])
      .default("started")
      .meta({
        description:
          "What must have happened to it before this app is changed: `started`, its container was started; `healthy`, " +
          "it was verified, with a health check by that check; `completed`, it ended without an error, for which its " +
          "`restart_policy` must be `no` or `on-failure`.",
      }),
  })
  .meta({ id: "AppDependency" });
export type AppDependency = z.output<typeof dependency>;

/**
 * An app of a group. The value of a declared secret and the content of a file may be omitted: they stay as they are on the
 * device.
 */
const appliedAppSchema = z
  .strictObject({
    ...newAppSpecSchema.shape,
    environments: environmentUpdates.default([]),
    files: appFileUpdates.exactOptional(),
    project: z
      .never("the project of the request applies to each of its apps")
      .optional()
      .meta({ description: "Not allowed: the project of the request applies to each of its apps." }),
  })
  .superRefine(checkOptionRules)
  .superRefine((app, context) => {
    for (const { path, reason } of findHiddenFiles(app))
      context.addIssue({ code: "custom", path: [path], message: reason });
  })
  .meta({
    id: "AppliedApp",
    description:
      "The whole specification of an app. A field that is missing has its default, also in an installed app.",
  });
export type AppliedApp = z.output<typeof appliedAppSchema>;

/** An app of an apply request, or of a revision of a fleet. */
export const applyEntrySchema = z
  .strictObject({
    app: appliedAppSchema,
    depends_on: z
      .array(dependency)
      .max(MAX_APPLY_APPS)
      .default([])
      .meta({ description: "Apps of the request that are changed before this one." }),
  })
  .meta({ id: "ApplyEntry" });

const applyFields = {
  project: appName.meta({
    description: "Name of the group. Each app belongs to the project that it was last applied with.",
    examples: ["line-3"],
  }),
  apps: z
    .array(applyEntrySchema)
    .max(MAX_APPLY_APPS)
    .meta({ description: "The apps of the group. Each name only once. Empty only with `remove`." }),
  remove: z
    .array(appName)
    .min(1, "must not be empty")
    .max(MAX_APPLY_APPS)
    .exactOptional()
    .meta({
      description:
        "Names of apps to remove, of any project or of none. Each name only once, and none of `apps`. One that is not " +
        "installed is ignored. Their data stays. If an app of the group fails, they come back.",
      examples: [["old-broker"]],
    }),
  prune: z.boolean().default(false).meta({
    description: "Whether apps of the same project that are missing from `apps` are removed. Their data stays.",
  }),
  adopt: z
    .boolean()
    .default(false)
    .meta({
      description:
        "Whether installed apps of another project, or of none, are taken into this one. Otherwise they refuse the " +
        "request with `AppExists`.",
    }),
  on_failure: z
    .enum(["rollback", "keep"])
    .default("rollback")
    .meta({
      description:
        "What happens if an app fails. `rollback`: every app becomes what it was before. `keep`: only the app that " +
        "failed does; apps that were changed before it stay changed. A cancelled deployment goes back in any case.",
    }),
  expect: z
    .string()
    .regex(/^[0-9a-f]{64}$/, "must be a plan hash of 64 hexadecimal digits")
    .exactOptional()
    .meta({
      description:
        "`details.plan_hash` of a dry run: the request fails with `PlanChanged`, and changes nothing, if the device " +
        "would make other changes by now.",
    }),
};

const applyExample = {
  project: "line-3",
  apps: [
    { app: { name: "mosquitto", image: "registry.example.com/team/mosquitto:2" } },
    {
      app: { name: "node-red", image: "registry.example.com/team/node-red:4.1" },
      depends_on: [{ app: "mosquitto", condition: "healthy" as const }],
    },
  ],
};

/** Maximum number of images that a fleet keeps on a device. */
export const MAX_KEPT_IMAGES = 128;

const keptImage = z
  .string()
  .max(512)
  .refine((image) => parseImageReference(image)?.digest !== undefined, "must be an image reference with a digest");

/** Fields that only the control plane sets, for the rollouts of fleets: no client can. */
const rolloutFields = {
  /** The fleet and the revision that the apps are of: see `appFleetSchema`. */
  fleet: z.strictObject({ name: appName, revision: revisionNumber }).exactOptional(),
  /**
   * Images that stay on the device until the next apply of the same fleet, which replaces the list, or clears it by having
   * none. They count from the acceptance on, also if the apply fails. A dry run changes nothing.
   */
  keep_images: z.array(keptImage).max(MAX_KEPT_IMAGES).exactOptional(),
};

/** A group of apps as it is stored and sent to the device. */
export const applySchema = z
  .strictObject({ ...applyFields, ...rolloutFields })
  .superRefine(checkApplyRules)
  .superRefine(({ fleet, keep_images: images }, context) => {
    if (images && !fleet) context.addIssue({ code: "custom", path: ["keep_images"], message: "needs fleet" });
  });
export type Apply = z.output<typeof applySchema>;

/** A group as a technician sends it on the device, without what only the control plane sets. */
export const localApplySchema = z.strictObject(applyFields).superRefine(checkApplyRules);

function checkApplyRules({ apps, remove }: RuledApply, context: z.RefinementCtx): void {
  for (const { path, message } of applyProblems(apps, remove))
    context.addIssue({ code: "custom", path: [...path], message });
}

/** Body of a request that applies a group of apps: the group and the options. */
export const applyRequestSchema = z
  .strictObject({ ...applyFields, ...deployOptionFields, ...deliveryOptionFields })
  .superRefine(checkApplyRules)
  .meta({ id: "ApplyRequest", examples: [applyExample] });
/** A request as a client writes it, with defaults left out. */
export type ApplyRequestInput = z.input<typeof applyRequestSchema>;

/** What an apply does to one app. */
export const plannedChangeSchema = z
  .object({
    app: z.string().meta({ description: "Name of the app." }),
    change: z.enum(["create", "update", "remove", "none"]).meta({ description: "What is done to it." }),
    fields: z.array(z.string()).meta({
      description:
        "With `update`: what differs, such as `image`, `environments.LOG_LEVEL` or `volumes./data`. Never values. " +
        "`image` also if the tag means another image now.",
    }),
    cost: z
      .record(z.string(), z.number())
      .optional()
      .meta({ description: "What it downloads, as in a dry run of one app: `download_bytes`, `disk_bytes`, …" }),
  })
  .meta({ id: "PlannedChange" });
export type PlannedChange = z.output<typeof plannedChangeSchema>;

/** `details` of the final event of a dry run with action `apply`. */
export const applyPlanSchema = z.object({
  dry_run: z.literal(true),
  plan: z.array(plannedChangeSchema),
  plan_hash: z.string(),
  download_bytes: z.number(),
  /** Installed apps of the project that the request does not name, and that stay without `prune`. */
  not_in_request: z.array(z.string()).default([]).catch([]),
});

/**
 * `details` of the final event of an apply that was carried out: the names of the apps by what became of them. An entry of
 * the wrong type counts as absent.
 */
export const applyVerdictSchema = z.object({
  /** The app that failed; absent if the failure is none of a single app. */
  app: z.string().optional().catch(undefined),
  /** New or updated. */
  changed: z.array(z.string()).default([]).catch([]),
  removed: z.array(z.string()).default([]).catch([]),
  unchanged: z.array(z.string()).default([]).catch([]),
  /** With `Fail`: changed or removed, and brought back to what was before. */
  restored: z.array(z.string()).default([]).catch([]),
  /** With `Fail`: could not be brought back; the agent goes on trying. */
  not_restored: z.array(z.string()).default([]).catch([]),
});
export type ApplyVerdict = z.output<typeof applyVerdictSchema>;
