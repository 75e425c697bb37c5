import { z } from "zod";

const MAX_URL_LENGTH = 2048;
const MAX_RECIPIENTS = 20;
/** Secrets with which a webhook is signed while they are rotated. */
const MAX_WEBHOOK_SECRETS = 3;

const httpUrl = z
  .string()
  .max(MAX_URL_LENGTH)
  .regex(
    /^https?:\/\/(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:[/?][\x21-\x7e]*)?$/,
    "must be an address with http or https and without a user or password",
  )
  // Such as a port above 65535.
  .pipe(z.url());
/** As in the Standard Webhooks specification: 24 to 64 bytes in base64. */
const webhookSecret = z
  .string()
  .regex(/^whsec_[A-Za-z0-9+/]{32,86}={0,2}$/, "must be whsec_ and 24 to 64 bytes in base64");
const token = z.string().regex(/^[\x21-\x7e]{1,256}$/, "must be 1 to 256 printable ASCII characters without spaces");
const mailAddress = z
  .string()
  .max(254)
  .regex(
    /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/,
    "must be a mail address",
  );

const recipients = z.array(mailAddress).min(1).max(MAX_RECIPIENTS).meta({ description: "Who gets the mails." });

/** Where messages go, with its secrets, as it is stored. */
export const alertChannelConfigSchema = z
  .discriminatedUnion("kind", [
    z.strictObject({
      kind: z.literal("webhook"),
      url: httpUrl,
      secrets: z
        .array(webhookSecret)
        .min(1)
        .max(MAX_WEBHOOK_SECRETS)
        .optional()
        .meta({ description: "Each signs. Absent: one is made, or those from before stay." }),
    }),
    z.strictObject({ kind: z.literal("email"), to: recipients }),
    z.strictObject({ kind: z.enum(["slack", "mattermost", "teams"]), url: httpUrl }),
    z.strictObject({
      kind: z.literal("pagerduty"),
      routing_key: token,
      url: httpUrl.default("https://events.pagerduty.com/v2/enqueue"),
    }),
    z.strictObject({ kind: z.literal("ntfy"), url: httpUrl, token: token.optional() }),
  ])
  .meta({ id: "AlertChannelConfig" });
export type AlertChannelConfig = z.output<typeof alertChannelConfigSchema>;

const KIND = { description: "What it is." };
const secretUrl = httpUrl.optional().meta({ description: "Where to. Absent: as before." });

/**
 * A channel as an account sets it. What is absent stays as it was, so that what is read, without secrets, can be sent back. No key
 * stays for another address: it would be sent there.
 */
export const alertChannelInputSchema = z
  .discriminatedUnion("kind", [
    z.strictObject({
      kind: z.literal("webhook").meta(KIND),
      url: secretUrl,
      secrets: z
        .array(webhookSecret)
        .min(1)
        .max(MAX_WEBHOOK_SECRETS)
        .optional()
        .meta({ description: "Each signs. Absent: those from before stay, or one is made." }),
    }),
    z.strictObject({ kind: z.literal("email").meta(KIND), to: recipients }),
    z.strictObject({ kind: z.enum(["slack", "mattermost", "teams"]).meta(KIND), url: secretUrl }),
    z.strictObject({
      kind: z.literal("pagerduty").meta(KIND),
      routing_key: token.optional().meta({ description: "Absent: as before, for the same address." }),
      url: secretUrl,
    }),
    z.strictObject({
      kind: z.literal("ntfy").meta(KIND),
      url: secretUrl,
      token: token
        .nullable()
        .optional()
        .meta({ description: "`null`: none. Absent: as before, for the same address." }),
    }),
  ])
  .meta({ id: "AlertChannelDefinition" });
export type AlertChannelInput = z.output<typeof alertChannelInputSchema>;

/** A channel as it is read: without addresses and secrets. */
export const alertChannelSchema = z
  .strictObject({
    kind: z.enum(["webhook", "email", "slack", "mattermost", "teams", "pagerduty", "ntfy"]).meta(KIND),
    to: recipients.optional().meta({ description: "Of `email`: who gets the mails." }),
  })
  .meta({ id: "AlertChannel" });
