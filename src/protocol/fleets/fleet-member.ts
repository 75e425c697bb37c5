import { z } from "zod";
import { targetStateSchema, waitReasonSchema } from "./rollout.ts";
import { cursorSchema, pageSizeSchema, unixSeconds } from "../values/scalars.ts";

export const memberStateSchema = z
  .enum(["current", "updating", "waiting", "outdated", "drifted", "missing", "stopped_by_hand", "held", "conflict"])
  .meta({
    id: "FleetMemberState",
    description:
      "What the device's last report says, compared with the revision that the member is to run. `current`: it runs that " +
      "revision. `updating`: a deployment of the fleet is under way, or its apps have to stay up for a while. `waiting`: it is " +
      "to get a revision, `for` says what it waits for. `outdated`: it runs another revision of the fleet, or an older agent than the revision asks for, " +
      "and nothing is to change that. `drifted`: an app was changed other than by the fleet. `missing`: an app that the fleet has brought is " +
      "not there. `stopped_by_hand`: a person has stopped an app; it stays stopped. `held`: fleets leave the asset alone. " +
      "`conflict`: another fleet owns an app of this fleet there.",
  });
export type MemberStateName = z.output<typeof memberStateSchema>;

/** States that people should look at. */
export const WRONG_MEMBER_STATES = [
  "drifted",
  "missing",
  "stopped_by_hand",
] as const satisfies readonly MemberStateName[];

/** What targets wait for, and what members without a target do. */
export const memberWaitSchema = z.enum([...new Set([...waitReasonSchema.options, "rollout", "variable"] as const)]);
export type MemberWait = z.output<typeof memberWaitSchema>;

const count = z.int().min(0);

/** Number of members by state; a state that no member is in is left out. */
export const memberCountsSchema = z.partialRecord(memberStateSchema, count).meta({
  id: "FleetMemberCounts",
  description: "Number of members by state. A state that no member is in is left out.",
});

export const memberDifferenceSchema = z
  .strictObject({
    app: z.string().meta({ description: "Name of the app; `edge-agent` with `agent`." }),
    kind: z.enum(["stopped", "missing", "changed", "differs", "revision", "agent"]).meta({
      description:
        "`stopped`: a person has stopped it. `missing`: it is not there. `changed`: the device says that it was changed other " +
        "than by the fleet, or it is there although the revision says `absent`. `differs`: its specification is another one, on " +
        "a device that does not report its fleet. `revision`: it is from another revision of the fleet. `agent`: the agent itself is " +
        "older than the revision asks for.",
    }),
    what: z.string().meta({ description: "What differs, for people and without values." }),
    by: z
      .enum(["local", "api", "foreign"])
      .nullable()
      .meta({
        description:
          "Who changed it: a command on the device (`local`), a deployment over the API, or another tool of the engine (`foreign`). " +
          "null: not known.",
      }),
    since: unixSeconds(
      "When it was changed, as far as its device knows; otherwise, when the service was told of it first. null: with `revision`.",
    ).nullable(),
  })
  .meta({ id: "FleetMemberDifference" });

export const memberSchema = z
  .strictObject({
    asset_id: z.string().meta({ description: "UUID of the asset." }),
    asset_name: z.string().meta({ description: "Name of the asset." }),
    serial_number: z.string().meta({ description: "Serial number of the asset." }),
    revision: z
      .int()
      .min(1)
      .nullable()
      .meta({ description: "The revision that it was last seen running as a whole; null: none." }),
    state: memberStateSchema,
    since: unixSeconds("Since when it is in this state; null: it was not judged yet.").nullable(),
    reported_at: unixSeconds("When its device last reported; null: never.").nullable(),
    for: memberWaitSchema.optional().meta({
      description:
        "With `waiting`: what it waits for. `rollout`: for its turn in a rollout, or for a first one. `variable`: it lacks " +
        "variables that the revision needs.",
    }),
    until: unixSeconds("With `waiting` and `held`, where it is known: until when.").optional(),
    message: z.string().nullable().meta({ description: "What is the matter, for people; null: nothing." }),
    differences: z.array(memberDifferenceSchema).meta({
      description:
        "How its apps differ from the revision that it is to run; at most 10. Also with `held` and `conflict`.",
    }),
    repair: z
      .strictObject({
        count: count.meta({ description: "How often the fleet has repaired it since it was last current for a day." }),
        next_at: unixSeconds(
          "When the next repair begins; null: none will, until a person reapplies the fleet.",
        ).nullable(),
      })
      .optional()
      .meta({ description: "Where the fleet repairs by itself (`on_drift`), and has repaired it." }),
    conflict: z
      .string()
      .nullable()
      .meta({ description: "An app of the fleet that another fleet owns there; null if there is none." }),
    target_state: targetStateSchema
      .nullable()
      .meta({ description: "State of the asset in the newest rollout, if that is not over; otherwise null." }),
  })
  .meta({ id: "FleetMember" });
export type MemberBody = z.output<typeof memberSchema>;

const states = z
  .string()
  .min(1)
  .max(256)
  .transform((text, context): MemberStateName[] => {
    const parsed = text.split(",").map((name) => memberStateSchema.safeParse(name));
    if (parsed.some(({ success }) => !success)) {
      const message = `must be states of members: ${memberStateSchema.options.join(", ")}`;
      context.addIssue({ code: "custom", message });
    }
    return parsed.flatMap(({ data }) => data ?? []);
  })
  .meta({
    type: "string",
    description: "Only members in one of these states, comma-separated.",
    examples: ["drifted,missing"],
  });

/** Query of Get Members. */
export const memberListQuerySchema = z.strictObject({
  limit: pageSizeSchema.optional(),
  cursor: cursorSchema.optional(),
  state: states.optional(),
});

/** Response of Get Members. */
export const memberListSchema = z
  .strictObject({
    members: z.array(memberSchema).meta({ description: "The members of this page, in the order of their UUIDs." }),
    next_cursor: z.string().nullable().meta({ description: "Cursor of the next page; `null` on the last one." }),
  })
  .meta({ id: "FleetMemberList" });
export type MemberList = z.output<typeof memberListSchema>;
