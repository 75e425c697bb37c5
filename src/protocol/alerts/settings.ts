import { z } from "zod";
import { unixSeconds } from "../values/scalars.ts";
import { alertChannelInputSchema, alertChannelSchema } from "./channel.ts";
import { isVersion } from "../agents/version-order.ts";
import { selectorSchema } from "../fleets/selector.ts";
import { ALERT_CONDITIONS, type ConditionDefault, MAX_LEVELS_S } from "./condition.ts";
import { MAX_HEALTH_VALUE, MIN_HEALTH_VALUE } from "../link/device-health.ts";
import { alertConditionSchema, alertSeveritySchema } from "./condition-schemas.ts";

/** Maximum number of rules, routes and channels of an account. */
export const MAX_ALERT_RULES = 50;
export const MAX_ALERT_ROUTES = 50;
export const MAX_ALERT_CHANNELS = 50;
/** Shortest pause between two repetitions, in seconds: a route never repeats a message every second. */
const MIN_REPEAT_S = 300;
const WEEK_S = 7 * 24 * 3600;
/** Longest time for which an agent may be outdated before that is told. */
const MAX_AGENT_AGE_S = 366 * 24 * 3600;

const forS = z.int().min(0).max(WEEK_S);
// One text for both, which the OpenAPI document has once.
const level = z.int().min(MIN_HEALTH_VALUE).max(MAX_HEALTH_VALUE).meta({
  description:
    "The percents or degrees that the mean of 15 minutes must be above, or below where the condition is `…_low`, within bounds.",
});

/** A rule changes the default of a condition for some assets. The first one that matches applies. */
export const alertRuleSchema = z
  .strictObject({
    condition: alertConditionSchema,
    selector: selectorSchema.default("*").meta({ description: "Assets that it is for." }),
    enabled: z.boolean().optional().meta({ description: "Whether alerts fire. Absent: as by default." }),
    severity: alertSeveritySchema.optional(),
    for_s: z
      .int()
      .min(0)
      .max(MAX_AGENT_AGE_S)
      .optional()
      .meta({
        description:
          "How long the condition must hold before the alert fires: a week at most, and 366 days for `agent_outdated`, which holds from when " +
          "the service has a newer release.",
      }),
    older_than: z
      .string()
      .refine(isVersion, "must be a version of the agent, such as 1.4.0")
      .optional()
      .meta({
        description:
          "For `agent_outdated`: agents of versions before this one, in place of those for which the service has had a newer release for " +
          "long. The alert fires at once, unless `for_s` says otherwise.",
      }),
    above: level.optional(),
    below: level.optional(),
  })
  .superRefine(({ condition, for_s, older_than, ...rule }, context) => {
    const { level: limits }: ConditionDefault = ALERT_CONDITIONS[condition];
    const refuse = (path: string, message: string): void => context.addIssue({ code: "custom", path: [path], message });
    const isOfAgents = condition === "agent_outdated";
    if (older_than !== undefined && !isOfAgents) refuse("older_than", "is for agent_outdated");
    if (for_s !== undefined && for_s > WEEK_S && !isOfAgents) refuse("for_s", `must be at most ${WEEK_S}`);
    for (const side of ["above", "below"] as const) {
      const limit = rule[side];
      if (limit === undefined) continue;
      if (limits?.side !== side) refuse(side, `is for conditions that hold ${side} a limit of what devices measure`);
      else if (side === "above" && limit < limits.widest) refuse(side, `must be at least ${limits.widest}`);
      else if (side === "below" && limit > limits.widest) refuse(side, `must be at most ${limits.widest}`);
    }
    if (limits && for_s !== undefined && for_s > MAX_LEVELS_S)
      refuse("for_s", `must be at most ${MAX_LEVELS_S} for what devices measure`);
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
    from: timeOfDay.meta({ description: "When they begin." }),
    to: timeOfDay.meta({ description: "When they end; the next day if that is earlier." }),
    time_zone: z
      .string()
      .max(64)
      .refine(isTimeZone, "must be a time zone of the IANA database, such as Europe/Berlin")
      .meta({ description: "Time zone of both." }),
    except_critical: z.boolean().default(true).meta({ description: "Whether what is critical does not wait." }),
  })
  .refine(({ from, to }) => from !== to, { path: ["to"], message: "must differ from `from`" })
  .meta({ id: "QuietHours", description: "Every day from `from` until `to` messages wait." });
export type QuietHours = z.output<typeof quietHoursSchema>;

export const alertRouteBodySchema = z
  .strictObject({
    conditions: z.array(alertConditionSchema).min(1).max(50).optional().meta({ description: "Absent: all of them." }),
    selector: selectorSchema.default("*").meta({ description: "Assets; alerts about anything else pass only `*`." }),
    severities: z.array(alertSeveritySchema).min(1).max(3).optional().meta({ description: "Absent: all of them." }),
    channels: z.array(alertNameSchema).min(1).max(10).meta({ description: "Names of channels, all of which get it." }),
    for_s: forS.default(0).meta({ description: "Tells of alerts whose condition has held so long: for escalation." }),
    group_wait_s: z
      .int()
      .min(0)
      .max(600)
      .default(2)
      .meta({ description: "How long the first message waits for what belongs to it." }),
    repeat_s: z
      .int()
      .min(MIN_REPEAT_S)
      .max(WEEK_S)
      .nullable()
      .default(null)
      .meta({ description: "Pause before a message is repeated; `null`: it is not." }),
    send_resolved: z.boolean().default(true).meta({ description: "Whether the end is told." }),
    quiet_hours: quietHoursSchema.nullable().default(null),
  })
  .meta({ id: "AlertRouteBody" });
export type AlertRouteBody = z.output<typeof alertRouteBodySchema>;

const atMost = (count: number) => (entries: object) => Object.keys(entries).length <= count;
const rules = z.array(alertRuleSchema).max(MAX_ALERT_RULES);
const routes = z
  .record(alertNameSchema, alertRouteBodySchema)
  .refine(atMost(MAX_ALERT_ROUTES), `must have at most ${MAX_ALERT_ROUTES} routes`);
const channels = z
  .record(alertNameSchema, alertChannelInputSchema)
  .refine(atMost(MAX_ALERT_CHANNELS), `must have at most ${MAX_ALERT_CHANNELS} channels`);
const ABSENT = "Absent: none.";

/** Everything that an account says about alerts: the body of Replace Alert Settings, and the file of `edge-control alerts set`. */
export const alertSettingsInputSchema = z
  .strictObject({
    rules: rules.default([]).meta({ description: `What differs from the defaults, the first that matches. ${ABSENT}` }),
    routes: routes.default({}).meta({ description: `Who is told what, by name. ${ABSENT}` }),
    channels: channels.default({}).meta({ description: `Where messages go, by name. ${ABSENT}` }),
  })
  .superRefine(({ routes: all, channels: given }, context) => {
    for (const [name, { channels: named }] of Object.entries(all)) {
      const missing = named.find((channel) => !Object.hasOwn(given, channel));
      if (missing === undefined) continue;
      const path = ["routes", name, "channels"];
      context.addIssue({
        code: "custom",
        path,
        message: `names the channel ${missing}, which is not among the channels`,
      });
    }
  })
  .meta({
    id: "AlertSettingsDefinition",
    examples: [
      {
        rules: [{ condition: "device_offline", selector: "role=van", for_s: 7200 }],
        routes: { all: { channels: ["ops"], repeat_s: 14_400 } },
        channels: { ops: { kind: "webhook", url: "https://hooks.example.com/alerts" } },
      },
    ],
  });
export type AlertSettingsInput = z.output<typeof alertSettingsInputSchema>;

const channelStateSchema = z
  .strictObject({
    address: z.string().meta({ description: "Host that messages are posted to, or who gets the mails." }),
    changed_at: unixSeconds("When it was set."),
    failing_since: unixSeconds("Since when every message fails; `null` if the last one did not.").nullable(),
    disabled_at: unixSeconds("When the service has given it up; `null` if it is in use.").nullable(),
  })
  .meta({ id: "AlertChannelState" });

/** The same as it is read. `rules`, `routes` and `channels` can be sent back: what is secret stays as it is. */
export const alertSettingsSchema = z
  .strictObject({
    rules: rules.meta({ description: "What differs from the defaults, the first that matches." }),
    routes: z.record(z.string(), alertRouteBodySchema).meta({ description: "Who is told what, by name." }),
    channels: z
      .record(z.string(), alertChannelSchema)
      .meta({ description: "Where messages go, by name, without addresses and secrets." }),
    channel_states: z.record(z.string(), channelStateSchema).meta({ description: "How the channels are, by name." }),
  })
  .meta({ id: "AlertSettings" });
export type AlertSettingsBody = z.output<typeof alertSettingsSchema>;

/** Response of Replace Alert Settings. */
export const replacedAlertSettingsSchema = alertSettingsSchema
  .extend({
    new_secrets: z
      .record(z.string(), z.string())
      .meta({ description: "Secrets that were made for webhooks, by the name of the channel. Shown once." }),
  })
  .meta({ id: "ReplacedAlertSettings" });
export type ReplacedAlertSettings = z.output<typeof replacedAlertSettingsSchema>;
