import { randomBytes } from "node:crypto";
import { z } from "zod";
import { type AlertChannelConfig, alertChannelConfigSchema } from "../../protocol/alerts/channel.ts";
import {
  alertNameSchema,
  alertRouteBodySchema,
  alertRuleSchema,
  MAX_ALERT_CHANNELS,
  MAX_ALERT_ROUTES,
  MAX_ALERT_RULES,
} from "../../protocol/alerts/settings.ts";

const WEBHOOK_SECRET_BYTES = 32;

const atMost = (count: number) => (entries: object) => Object.keys(entries).length <= count;

/** Everything that an account says about alerts, as a file. */
export const alertsFileSchema = z
  .strictObject({
    rules: z.array(alertRuleSchema).max(MAX_ALERT_RULES).default([]),
    routes: z
      .record(alertNameSchema, alertRouteBodySchema)
      .refine(atMost(MAX_ALERT_ROUTES), `must have at most ${MAX_ALERT_ROUTES} routes`)
      .default({}),
    channels: z
      .record(alertNameSchema, alertChannelConfigSchema)
      .refine(atMost(MAX_ALERT_CHANNELS), `must have at most ${MAX_ALERT_CHANNELS} channels`)
      .default({}),
  })
  .superRefine(({ routes, channels }, context) => {
    for (const [name, { channels: named }] of Object.entries(routes)) {
      const missing = named.find((channel) => !Object.hasOwn(channels, channel));
      if (missing === undefined) continue;
      const path = ["routes", name, "channels"];
      context.addIssue({ code: "custom", path, message: `names the channel ${missing}, which the file does not have` });
    }
  });
export type AlertsFile = z.output<typeof alertsFileSchema>;

/** Returns the channel with secrets: its own, those that it had before, or a new one. */
export function withSecrets(config: AlertChannelConfig, before: AlertChannelConfig | undefined): AlertChannelConfig {
  if (config.kind !== "webhook" || config.secrets) return config;
  const kept = before?.kind === "webhook" ? before.secrets : undefined;
  return { ...config, secrets: kept ?? [`whsec_${randomBytes(WEBHOOK_SECRET_BYTES).toString("base64")}`] };
}
