import { z } from "zod";
import {
  anyObject,
  cursorSchema,
  integerString,
  MAX_UNIX_SECONDS,
  pageSizeSchema,
  unixSeconds,
} from "../values/scalars.ts";

/** Who acts: a user, an API key, the server's command line, a device, or the service itself. */
const auditActorKindSchema = z.enum(["user", "key", "command_line", "device", "service"]);

export const auditEntrySchema = z
  .strictObject({
    id: z.string().meta({ description: "Id of the entry." }),
    timestamp: unixSeconds("When it was done."),
    actor: z
      .strictObject({
        kind: auditActorKindSchema.meta({ description: "What acted; `service` is the service itself." }),
        id: z.string().meta({ description: "Id of the user, key or asset; the system's user for the command line." }),
        name: z.string().optional().meta({ description: "Its name at that time." }),
      })
      .meta({ description: "Who did it." }),
    source: z.string().nullable().meta({ description: "Address the request came from; null if there is none." }),
    action: z.string().meta({ description: "What was done.", examples: ["key.created"] }),
    asset_id: z.string().nullable().meta({ description: "The asset it was done on, if it was." }),
    app: z.string().nullable().meta({ description: "The app it was done on, if it was." }),
    subject: z
      .strictObject({
        kind: z.string().meta({ description: "What it is, such as `user`, `key` or `deployment`." }),
        id: z.string().meta({ description: "Its id." }),
        name: z.string().optional().meta({ description: "Its name at that time." }),
      })
      .nullable()
      .meta({ description: "What else it was done on, with its name at that time." }),
    outcome: z.string().meta({ description: "`ok`, or the code of the error.", examples: ["ok"] }),
    details: anyObject.meta({ description: "Facts of the action. They hold no secrets." }),
  })
  .meta({ id: "AuditEntry" });
export type AuditEntryBody = z.output<typeof auditEntrySchema>;

export const auditLogSchema = z
  .strictObject({
    entries: z.array(auditEntrySchema).meta({ description: "The entries of this page, newest first." }),
    next_cursor: z.string().nullable().meta({ description: "Cursor of the next page; `null` on the last one." }),
  })
  .meta({ id: "AuditLog" });
export type AuditLog = z.output<typeof auditLogSchema>;

const unixSecondsString = (description: string) => integerString(0, MAX_UNIX_SECONDS).optional().meta({ description });

/** Query of Get Audit Log. */
export const auditQuerySchema = z.strictObject({
  limit: pageSizeSchema.optional(),
  cursor: cursorSchema.optional(),
  actor: z.string().min(1).max(128).optional().meta({ description: "Only entries of the actor with this id." }),
  action: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .meta({ description: "Only this action; a name with a final dot, such as `key.`, for all that begin so." }),
  asset: z.string().min(1).max(128).optional().meta({ description: "Only entries on the asset with this identifier." }),
  outcome: z.string().min(1).max(64).optional().meta({ description: "`ok`, `failed` for all others, or one code." }),
  since: unixSecondsString("Only entries from then on. Unix seconds, UTC."),
  until: unixSecondsString("Only entries before then. Unix seconds, UTC."),
});
