import { z } from "zod";
import { selectorSchema } from "../fleets/selector.ts";
import { alertConditionSchema, alertSeveritySchema } from "./condition.ts";

/** Maximum number of rules, routes and channels of an account. */
export const MAX_ALERT_RULES = 50;
export const MAX_ALERT_ROUTES = 50;
export const MAX_ALERT_CHANNELS = 50;
/** Shortest pause between two repetitions, in seconds: a route never repeats a message every second. */
const MIN_REPEAT_S = 300;
const WEEK_S = 7 * 24 * 3600;

const forS = z.int().min(0).max(WEEK_S);

/** A rule changes the default of a condition for some assets. The first one that matches applies. */
export const alertRuleSchema = z
  .strictObject({
    condition: alertConditionSchema,
    selector: selectorSchema.default("*"),
    enabled: z.boolean().optional(),
    severity: alertSeveritySchema.optional(),
    for_s: forS.optional().meta({ description: "How long the condition must hold before the alert fires." }),
  })
  .meta({ id: "AlertRule" });
export type AlertRule = z.output<typeof alertRuleSchema>;

/** Name of a route or a channel, which is its address too. */
export const alertNameSchema = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, "must be 1 to 63 lower-case letters, digits or '-'");

const TIME_OF_DAY = /^(?:[01][0-9]|2[0-3]):[0-5][0-9]$/;
const timeOfDay = z.string().regex(TIME_OF_DAY, "must be HH:MM");

/** Whether Node.js knows the time zone. */
function isTimeZone(text: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: text }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

export const quietHoursSchema = z
  .strictObject({
    from: timeOfDay,
    to: timeOfDay,
    time_zone: z.string().max(64).refine(isTimeZone, "must be a time zone of the IANA database, such as Europe/Berlin"),
    except_critical: z.boolean().default(true),
  })
  .refine(({ from, to }) => from !== to, { path: ["to"], message: "must differ from `from`" })
  .meta({ id: "QuietHours", description: "Every day from `from` until `to` messages wait." });
export type QuietHours = z.output<typeof quietHoursSchema>;

export const alertRouteBodySchema = z
  .strictObject({
    conditions: z.array(alertConditionSchema).min(1).max(50).optional().meta({ description: "Absent: all of them." }),
    selector: selectorSchema.default("*").meta({ description: "Assets; alerts about anything else pass only `*`." }),
    severities: z.array(alertSeveritySchema).min(1).max(3).optional().meta({ description: "Absent: all of them." }),
    channels: z.array(alertNameSchema).min(1).max(10),
    for_s: forS.default(0).meta({ description: "Tells of alerts whose condition has held so long: for escalation." }),
    group_wait_s: z.int().min(0).max(600).default(2),
    repeat_s: z.int().min(MIN_REPEAT_S).max(WEEK_S).nullable().default(null),
    send_resolved: z.boolean().default(true),
    quiet_hours: quietHoursSchema.nullable().default(null),
  })
  .meta({ id: "AlertRouteBody" });
export type AlertRouteBody = z.output<typeof alertRouteBodySchema>;
