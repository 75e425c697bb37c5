import { z } from "zod";
import { displayText } from "../values/sanitized-text.ts";
import { roleSchema } from "./principal.ts";
import { MAX_UNIX_SECONDS, unixSeconds } from "../values/scalars.ts";

const keyNameSchema = displayText(1, 128).meta({
  description: "What the key is for.",
  examples: ["Deployments by CI"],
});

/** The role of a key that is made without one, wherever it is made. */
export const DEFAULT_KEY_ROLE = "operator";

/** What a key may do only if it was given to it, whatever its role. */
const remoteAccessSchema = z
  .array(z.enum(["apps.forward", "apps.exec"]))
  .max(2)
  .meta({ description: "Access to apps themselves: `apps.forward` to their ports, `apps.exec` to commands in them." });

export const apiKeySchema = z
  .strictObject({
    id: z.string().meta({ description: "Id of the key.", examples: ["key_01KAN9BZ5V3S0Y4M6T8R2X7Q1C"] }),
    name: z.string().meta({ description: "What the key is for." }),
    role: roleSchema,
    permissions: remoteAccessSchema,
    created_at: unixSeconds("When the key was created."),
    created_by: z
      .string()
      .nullable()
      .meta({ description: "Id of the user or the key that created it; null for the command line." }),
    belongs_to: z.enum(["person", "account"]).meta({
      description:
        "`person`: it is revoked when the person whose log-in or session it comes from is removed or disabled, gets another " +
        "password, or may do less than the key. `account`: it stays. A key that was made with another one also ends with that.",
    }),
    person: z
      .string()
      .nullable()
      .meta({ description: "Id of the user who answers for it, also through the keys in between; null for none." }),
    expires_at: unixSeconds("From then on the key is refused; null for never.").nullable(),
    last_used_at: unixSeconds("When the key was used last, to the minute; null for never.").nullable(),
    revoked_at: unixSeconds("When the key was revoked; null if it was not.").nullable(),
  })
  .meta({ id: "ApiKey" });
export type ApiKeyBody = z.output<typeof apiKeySchema>;

export const apiKeyListSchema = z
  .strictObject({
    api_keys: z.array(apiKeySchema).meta({ description: "The keys of this page, oldest first." }),
    next_cursor: z.string().nullable().meta({ description: "Cursor of the next page; `null` on the last one." }),
  })
  .meta({ id: "ApiKeyList" });
export type ApiKeyList = z.output<typeof apiKeyListSchema>;

/** Body of Create API Key. */
export const apiKeyCreationSchema = z
  .strictObject({
    name: keyNameSchema,
    role: roleSchema.default(DEFAULT_KEY_ROLE),
    expires_at: z
      .int()
      .min(0)
      .max(MAX_UNIX_SECONDS)
      .optional()
      .meta({
        description:
          "From then on the key is refused; absent for never, or with the key that makes it. At most when that one expires. Unix " +
          "seconds, UTC.",
      }),
    permissions: remoteAccessSchema.default([]),
    belongs_to: z
      .enum(["person", "account"])
      .optional()
      .meta({
        description:
          "`person`, the default in a session: the key falls with the person who makes it. `account`: it stays, such as for CI. " +
          "A key that is made with a key belongs to the same owner.",
      }),
  })
  .meta({ id: "ApiKeyCreation", examples: [{ name: "Deployments by CI", role: "operator", belongs_to: "account" }] });

/** Response of Create API Key. */
export const createdApiKeySchema = z
  .strictObject({
    key: apiKeySchema.meta({ description: "The key, without its secret." }),
    api_key: z
      .string()
      .meta({ description: "The secret. Shown only once; the service stores its hash.", examples: ["ek_…"] }),
  })
  .meta({ id: "CreatedApiKey" });
export type CreatedApiKey = z.output<typeof createdApiKeySchema>;

/** Body of Update API Key. Omitted fields keep their values; at least one field is required. */
export const apiKeyUpdateSchema = z
  .strictObject({
    name: keyNameSchema.optional(),
    expires_at: z
      .int()
      .min(0)
      .max(MAX_UNIX_SECONDS)
      .nullable()
      .optional()
      .meta({
        description:
          "From then on the key is refused; null for never. At most when the key expires that made it, or that makes the request. " +
          "Unix seconds, UTC.",
      }),
  })
  .meta({ id: "ApiKeyUpdate", minProperties: 1, examples: [{ name: "Deployments by CI" }] });
