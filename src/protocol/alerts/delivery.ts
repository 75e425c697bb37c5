import { z } from "zod";
import { pageQuerySchema } from "../people/users.ts";
import { unixSeconds } from "../values/scalars.ts";
import { alertNameSchema } from "./settings.ts";

const stateSchema = z.enum(["waiting", "delivered", "failed"]);

const alertDeliverySchema = z
  .strictObject({
    message_id: z.string().meta({ description: "Id of the message, which is the same however often it is sent." }),
    group_id: z.string().meta({ description: "Group of alerts that it is about." }),
    channel: z.string().meta({ description: "Name of the channel." }),
    type: z.enum(["firing", "update", "repeat", "resolved", "test"]).meta({ description: "What it says." }),
    text: z.string().meta({ description: "Its line for people." }),
    state: stateSchema.meta({ description: "`waiting`: it is to be sent, perhaps again. `failed`: it was given up." }),
    attempts: z.int().meta({ description: "How often it was sent." }),
    created_at: unixSeconds("When it was decided on."),
    answered_at: unixSeconds("When the last attempt ended.").nullable(),
    answer: z.string().nullable().meta({ description: "What the other side answered to that, cut, or why it failed." }),
  })
  .meta({ id: "AlertDelivery" });
export type AlertDeliveryBody = z.output<typeof alertDeliverySchema>;

export const alertDeliveryListSchema = z
  .strictObject({
    deliveries: z.array(alertDeliverySchema).meta({ description: "The messages of this page, newest first." }),
    next_cursor: z.string().nullable().meta({ description: "Cursor of the next page; `null` on the last one." }),
  })
  .meta({ id: "AlertDeliveryList" });
export type AlertDeliveryList = z.output<typeof alertDeliveryListSchema>;

/** Query of List Alert Deliveries. */
export const alertDeliveryQuerySchema = pageQuerySchema.extend({
  channel: alertNameSchema.optional().meta({ description: "Only those to the channel with this name." }),
  state: stateSchema.optional().meta({ description: "Only those in this state." }),
});
