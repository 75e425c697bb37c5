import { z } from "zod";
import { agentVersionSchema } from "../agents/agent-update.ts";
import { newAppName } from "../apps/app-fields.ts";
import { applyEntrySchema, MAX_APPLY_APPS } from "../apps/apply.ts";
import { registryAuthSchema } from "../apps/deploy-request.ts";
import { displayText } from "../values/sanitized-text.ts";
import { checkRevisionEntries } from "./revision-rules.ts";
import { actorSchema } from "./rollout.ts";
import { anyObject, unixSeconds } from "../values/scalars.ts";

/*
 * Revisions of fleets as clients see them.
 */

const absentEntrySchema = z
  .strictObject({ name: newAppName, absent: z.literal(true).meta({ description: "The app is removed from devices." }) })
  .meta({ id: "AbsentApp" });

const revisionEntrySchema = z.union([applyEntrySchema, absentEntrySchema]);

/** What a revision asks of the agent itself. */
const requiredAgentSchema = z.strictObject({ version: agentVersionSchema }).meta({ id: "RequiredAgent" });

/** Body of Create Revision. */
export const revisionRequestSchema = z
  .strictObject({
    apps: z
      .array(revisionEntrySchema)
      .max(MAX_APPLY_APPS)
      .superRefine(checkRevisionEntries)
      .meta({
        description:
          "The apps, each whole as in an apply request, or with `absent`. Values of `environments` may contain `${NAME}`, for " +
          "which the value of that variable of the asset is put in. Apps of the fleet that are not named stay as they are. May be " +
          "empty with `agent`.",
      }),
    agent: requiredAgentSchema.exactOptional().meta({
      description:
        "The version that the agent of each member must have at least. An older one is updated to it, before the apps; one that is " +
        "as new, or newer, is left as it is. Takes the permission `agents.update`, as does a rollout of the revision.",
    }),
    comment: displayText(1, 512).exactOptional().meta({ description: "What is new, for people." }),
    registry_auth: registryAuthSchema.exactOptional().meta({
      description: "Credentials for the registry of the images, to find out digests. They are not stored.",
    }),
  })
  .refine(({ apps, agent }) => apps.length > 0 || agent !== undefined, {
    path: ["apps"],
    message: "must not be empty without `agent`",
  })
  .meta({
    id: "RevisionRequest",
    examples: [
      {
        apps: [
          {
            app: {
              name: "kiosk-ui",
              image: "registry.example.com/team/kiosk-ui:4.1",
              environments: [{ key: "SITE_ID", value: "${SITE_ID}" }],
            },
          },
          { name: "old-player", absent: true as const },
        ],
        comment: "Ticket printer",
      },
    ],
  });
export type RevisionRequest = z.output<typeof revisionRequestSchema>;

const revisionAppSchema = z
  .strictObject({
    name: z.string().meta({ description: "Name of the app." }),
    image: z.string().nullable().meta({ description: "The image by its digest; null if the app is to be absent." }),
    written_image: z.string().nullable().meta({
      description: "The image as it was written, with its tag; null if the app is to be absent.",
    }),
  })
  .meta({ id: "RevisionApp" });

const fields = {
  number: z.int().min(1).meta({ description: "Number of the revision, from 1." }),
  comment: z.string().nullable().meta({ description: "What is new, for people." }),
  apps: z.array(revisionAppSchema).meta({ description: "The apps with their images." }),
  agent: requiredAgentSchema
    .nullable()
    .meta({ description: "The version that the agent must have at least; null: any." }),
  hash: z.string().meta({ description: "SHA-256 of the content as it is stored, in hexadecimal digits." }),
  created_at: unixSeconds("When it was created."),
  created_by: actorSchema.meta({ description: "Who created it." }),
};

export const revisionSchema = z.strictObject(fields).meta({ id: "Revision" });
export type RevisionBody = z.output<typeof revisionSchema>;

/** Response of Get Revision. */
export const revisionDetailsSchema = z
  .strictObject({
    ...fields,
    entries: z.array(anyObject).meta({
      description:
        "The apps as in the request, with images by digest: `app` and `depends_on`, or `name` and `absent`. Values of " +
        "`environments` are masked unless they are revealed, and contents of files are left out.",
    }),
  })
  .meta({ id: "RevisionDetails" });
export type RevisionDetails = z.output<typeof revisionDetailsSchema>;

/** Response of Get Revisions. */
export const revisionListSchema = z
  .strictObject({
    revisions: z.array(revisionSchema).meta({ description: "The revisions of this page, newest first." }),
    next_cursor: z.string().nullable().meta({ description: "Cursor of the next page; `null` on the last one." }),
  })
  .meta({ id: "RevisionList" });
export type RevisionList = z.output<typeof revisionListSchema>;

/** Response of Compare Revisions. */
export const revisionDiffSchema = z
  .strictObject({
    from: z.int().min(1).meta({ description: "Number of the revision that is compared." }),
    to: z.int().min(1).meta({ description: "Number of the revision that it is compared with." }),
    apps: z
      .array(
        z
          .strictObject({
            app: z.string().meta({ description: "Name of the app." }),
            change: z.enum(["added", "changed", "removed", "not_named", "same"]).meta({
              description:
                "`added`: only `to` has it. `changed`: both have it, differently. `removed`: `to` has it as absent. " +
                "`not_named`: `to` does not name it, so that it stays as it is. `same`: nothing differs.",
            }),
            fields: z.array(z.string()).meta({
              description:
                "With `changed`: what differs, such as `image`, `environments.LOG_LEVEL` or `depends_on`. Never values.",
              examples: [["image", "environments.LOG_LEVEL"]],
            }),
          })
          .meta({ id: "RevisionAppDiff" }),
      )
      .meta({ description: "The apps of both revisions, by name." }),
    agent: z
      .strictObject({
        from: z.string().nullable().meta({ description: "That of `from`; null: any." }),
        to: z.string().nullable().meta({ description: "That of `to`; null: any." }),
      })
      .nullable()
      .meta({ description: "The versions that they ask of the agent; null: nothing differs." }),
  })
  .meta({ id: "RevisionDiff" });
export type RevisionDiff = z.output<typeof revisionDiffSchema>;
