import { z } from "zod";
import { unixSeconds } from "../values/scalars.ts";

/** The roles in order: each may do what those before it may, and more. */
export const ROLES = ["viewer", "installer", "operator", "admin"] as const;
export const roleSchema = z
  .enum(ROLES)
  .meta({ id: "Role", description: "What a principal may do. Each role includes those before it." });
export type Role = z.output<typeof roleSchema>;

/** Who acts in an account: a person, or a program with an API key. */
export const sessionSchema = z
  .strictObject({
    principal: z
      .strictObject({
        kind: z.enum(["user", "key"]).meta({ description: "A person who is signed in, or an API key." }),
        id: z.string().meta({ description: "Id of the user or of the key." }),
        name: z.string().meta({ description: "Name of the user, or of the key." }),
        email: z.string().optional().meta({ description: "Only of a user." }),
      })
      .meta({ description: "Who acts." }),
    account: z
      .strictObject({
        id: z.string().meta({ description: "Id of the account." }),
        name: z.string().meta({ description: "Name of the account." }),
      })
      .meta({ description: "The account that it acts in." }),
    role: roleSchema,
    permissions: z.array(z.string()).meta({
      description: "Everything the principal may do, as in the table of permissions.",
      examples: [["assets.read", "apps.read"]],
    }),
    expires_at: unixSeconds("When the session or the key ends if it is not used before; null for never.").nullable(),
  })
  .meta({ id: "Session", description: "Who the request acts as." });
export type SessionBody = z.output<typeof sessionSchema>;
