import { z } from "zod";
import { rolloutSchema, targetSchema, type TargetState, targetStateSchema } from "./rollout.ts";
import { booleanString, cursorSchema, integerString, pageSizeSchema } from "../values/scalars.ts";

const nextCursor = z.string().nullable().meta({ description: "Cursor of the next page; `null` on the last one." });

/** Response of Get Rollouts. */
export const rolloutListSchema = z
  .strictObject({
    rollouts: z.array(rolloutSchema).meta({ description: "The rollouts of this page, newest first." }),
    next_cursor: nextCursor,
  })
  .meta({ id: "RolloutList" });
export type RolloutList = z.output<typeof rolloutListSchema>;

const states = z
  .string()
  .min(1)
  .max(256)
  .transform((text, context): TargetState[] => {
    const parsed = text.split(",").map((name) => targetStateSchema.safeParse(name));
    if (parsed.some(({ success }) => !success)) {
      context.addIssue({
        code: "custom",
        message: `must be states of targets: ${targetStateSchema.options.join(", ")}`,
      });
    }
    return parsed.flatMap(({ data }) => data ?? []);
  })
  .meta({
    type: "string",
    description: "Only targets in one of these states, comma-separated.",
    examples: ["failed,lost"],
  });

/** Query of Get Targets. */
export const targetListQuerySchema = z.strictObject({
  limit: pageSizeSchema.optional(),
  cursor: cursorSchema.optional(),
  state: states.optional(),
  failed: booleanString().optional().meta({
    description: "With `true`, only targets that have failed, were lost or have refused, whatever they are by now.",
  }),
  wave: integerString(1, 1_000).optional().meta({ description: "Only targets of the wave with this number, from 1." }),
});

/** Response of Get Targets. */
export const targetListSchema = z
  .strictObject({
    targets: z.array(targetSchema).meta({ description: "The targets of this page, in the order of their UUIDs." }),
    next_cursor: nextCursor,
  })
  .meta({ id: "RolloutTargetList" });
export type TargetList = z.output<typeof targetListSchema>;
