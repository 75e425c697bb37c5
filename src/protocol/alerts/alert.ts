import { z } from "zod";
import { selectorSchema } from "../fleets/selector.ts";
import { pageQuerySchema } from "../people/users.ts";
import { unixSeconds } from "../values/scalars.ts";
import { alertConditionSchema, alertSeveritySchema } from "./condition-schemas.ts";

export const alertStateSchema = z.enum(["firing", "resolved"]);

/** What an alert is about. */
export const alertSubjectFields = {
  kind: z.enum(["asset", "rollout", "api_key", "channel", "service"]).meta({ description: "What it is." }),
  id: z.string().meta({ description: "Its id: of an asset the UUID, of a channel the name." }),
  name: z.string().meta({ description: "Its name when the alert began." }),
};

const alertSubjectSchema = z
  .strictObject(alertSubjectFields)
  .meta({ id: "AlertSubject", description: "What the alert is about." });

/** An alert as clients see it. */
export const alertSchema = z
  .strictObject({
    id: z.string().meta({ description: "Id of the alert." }),
    condition: alertConditionSchema,
    severity: alertSeveritySchema,
    state: alertStateSchema.meta({ description: "Whether it fires, or is over." }),
    subject: alertSubjectSchema,
    since: unixSeconds("Since when the condition has held."),
    fired_at: unixSeconds("When the alert fired."),
    resolved_at: unixSeconds("When it was over.").nullable(),
    usual_pause_s: z
      .int()
      .nullable()
      .meta({ description: "For how long the device is gone at times, by experience; `null` if that is not known." }),
    acknowledged_at: unixSeconds("When a person acknowledged it.").nullable(),
    acknowledged_by: z.string().nullable().meta({ description: "Who did." }),
    group_ids: z
      .array(z.string())
      .meta({ description: "Groups in which messages tell of it, one for each route; empty if none does." }),
  })
  .meta({ id: "Alert" });
export type AlertBody = z.output<typeof alertSchema>;

export const alertListSchema = z
  .strictObject({
    alerts: z.array(alertSchema).meta({ description: "The alerts of this page, the one that fired last first." }),
    firing: z.int().min(0).meta({ description: "All alerts of the account that fire, whatever the page has." }),
    unacknowledged: z.int().min(0).meta({ description: "Those of them that no person has acknowledged." }),
    next_cursor: z.string().nullable().meta({ description: "Cursor of the next page; `null` on the last one." }),
  })
  .meta({ id: "AlertList" });
export type AlertList = z.output<typeof alertListSchema>;

/** Response of Acknowledge Alert Group. */
export const acknowledgedGroupSchema = z
  .strictObject({ acknowledged: z.int().meta({ description: "How many alerts had no acknowledgement." }) })
  .meta({ id: "AcknowledgedAlertGroup" });
export type AcknowledgedGroup = z.output<typeof acknowledgedGroupSchema>;

/** Query of List Alerts. */
export const alertListQuerySchema = pageQuerySchema.extend({
  state: alertStateSchema
    .optional()
    .meta({ description: "Those that fire, which is the default, or those that are over." }),
  // Of their own: a parameter whose schema is a component has no description.
  condition: z.enum(alertConditionSchema.options).optional().meta({ description: "Only those with this condition." }),
  severity: z.enum(alertSeveritySchema.options).optional().meta({ description: "Only those with this severity." }),
  selector: selectorSchema
    .optional()
    .meta({ description: "Only those about assets that match it now; `*`: those about anything." }),
  asset: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .meta({ description: "Only those about the asset with this identifier." }),
  group: z
    .string()
    .regex(/^grp_[0-9a-f]{1,64}$/, "must be the id of a group")
    .optional()
    .meta({ description: "Only those of the message with this `group_id`." }),
});
