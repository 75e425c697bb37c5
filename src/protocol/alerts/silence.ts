import { z } from "zod";
import { selectorSchema } from "../fleets/selector.ts";
import { pageQuerySchema } from "../people/users.ts";
import { displayText } from "../values/sanitized-text.ts";
import { unixSeconds } from "../values/scalars.ts";
import { alertConditionSchema } from "./condition-schemas.ts";

/** Shortest and longest time for which something is silenced, in seconds. */
export const MIN_SILENCE_S = 60;
export const MAX_SILENCE_S = 366 * 24 * 3600;

export const silenceReasonSchema = displayText(1, 256).meta({
  description: "Why, for people.",
  examples: ["Works at the pump until Thursday"],
});
const selector = selectorSchema.meta({ description: "Assets; alerts about anything else are silenced by `*` alone." });
const conditions = z.array(alertConditionSchema).min(1).max(50);
const identifier = z.string().min(1).max(128);

/** Body of Create Silence. */
export const silenceCreationSchema = z
  .strictObject({
    reason: silenceReasonSchema,
    until: unixSeconds("When it ends, from a minute to 366 days from now."),
    selector: selector.default("*"),
    asset: identifier.optional().meta({
      description:
        "Only this asset, by any of its identifiers, in place of a selector. The silence ends with the asset.",
    }),
    conditions: conditions.optional().meta({ description: "Absent: all of them." }),
  })
  .refine((silence) => silence.asset === undefined || silence.selector === "*", {
    path: ["asset"],
    message: "and a selector exclude each other",
  })
  .meta({
    id: "SilenceCreation",
    examples: [{ reason: "Works at the pump until Thursday", until: 1_798_761_600, selector: "site=pump-7" }],
  });

/** Alerts of which nothing is told for a time. */
export const silenceSchema = z
  .strictObject({
    id: z.string().meta({ description: "Id of the silence." }),
    reason: silenceReasonSchema,
    selector,
    asset: z
      .strictObject({
        id: z.string().meta({ description: "Its UUID." }),
        name: z.string().meta({ description: "Its name now." }),
      })
      .nullable()
      .meta({ description: "The only asset that it is about; `null`: those that the selector matches." }),
    conditions: conditions.nullable().meta({ description: "`null`: all of them." }),
    created_at: unixSeconds("When it was created."),
    created_by: z.string().meta({ description: "Who created it." }),
    until: unixSeconds("When it ends."),
  })
  .meta({ id: "Silence" });
export type SilenceBody = z.output<typeof silenceSchema>;

/** Query of List Silences. */
export const silenceListQuerySchema = pageQuerySchema.extend({
  asset: identifier.optional().meta({
    description: "Only those that silence the asset with this identifier: by name, by its tags, or with all others.",
  }),
});

export const silenceListSchema = z
  .strictObject({
    silences: z.array(silenceSchema).meta({ description: "The silences of this page, the oldest first." }),
    next_cursor: z.string().nullable().meta({ description: "Cursor of the next page; `null` on the last one." }),
  })
  .meta({ id: "SilenceList" });
export type SilenceList = z.output<typeof silenceListSchema>;
