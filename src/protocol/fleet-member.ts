import { z } from "zod";
import { targetStateSchema } from "./rollout.ts";

export const memberStateSchema = z.enum(["current", "other", "updating", "drifted", "conflict", "new"]).meta({
  description:
    "`current`: it runs the stable revision. `other`: it runs another revision. `updating`: a deployment of the fleet is under " +
    "way, or its apps have to stay up for a while. `drifted`: its apps are not what any revision says, since they were " +
    "changed on the device or by hand. `conflict`: another fleet owns an app of this fleet there. `new`: the fleet has " +
    "brought nothing there yet.",
});
export type MemberStateName = z.output<typeof memberStateSchema>;

export const memberSchema = z
  .strictObject({
    asset_id: z.string().meta({ description: "UUID of the asset." }),
    asset_name: z.string().meta({ description: "Name of the asset." }),
    revision: z
      .int()
      .min(1)
      .nullable()
      .meta({ description: "The revision that it was last seen running as a whole; null: none." }),
    state: memberStateSchema,
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

/** Response of Get Members. */
export const memberListSchema = z
  .strictObject({
    members: z.array(memberSchema).meta({ description: "The members of this page, in the order of their UUIDs." }),
    next_cursor: z.string().nullable().meta({ description: "Cursor of the next page; `null` on the last one." }),
  })
  .meta({ id: "FleetMemberList" });
export type MemberList = z.output<typeof memberListSchema>;
