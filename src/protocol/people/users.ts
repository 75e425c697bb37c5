import { z } from "zod";
import { displayText } from "../values/sanitized-text.ts";
import { roleSchema } from "./principal.ts";
import { cursorSchema, pageSizeSchema, unixSeconds } from "../values/scalars.ts";

/** Longest address of a person, as in SMTP, in characters. */
const MAX_EMAIL_LENGTH = 254;
/** Length of a password in characters. */
export const MIN_PASSWORD_LENGTH = 12;
const MAX_PASSWORD_LENGTH = 256;

export const userNameSchema = displayText(1, 128).meta({ description: "Name of the person.", examples: ["Ada Byron"] });
const emailSchema = z
  .string()
  .min(3)
  .max(MAX_EMAIL_LENGTH)
  .meta({ description: "Address the person signs in with.", examples: ["ada@example.com"] });
// Bounded in UTF-16 units, as every text of a request; what a password must be is checked where it is set.
const passwordSchema = z
  .string()
  .min(1)
  .max(4 * MAX_PASSWORD_LENGTH)
  .meta({ description: `Password, ${MIN_PASSWORD_LENGTH} to ${MAX_PASSWORD_LENGTH} characters.`, format: "password" });
const codeSchema = z.string().min(1).max(128).meta({ description: "The code of the link, which can be used once." });

/** Body of Set Up: makes the first user of the service, or of an account that the command line created. */
export const setUpRequestSchema = z
  .strictObject({
    code: codeSchema,
    account_name: displayText(1, 128)
      .optional()
      .meta({ description: "Name of the account; required unless the code is of an account that exists." }),
    email: emailSchema,
    name: userNameSchema.optional().meta({ description: "Name of the person; the address by default." }),
    password: passwordSchema,
  })
  .meta({
    id: "SetUpRequest",
    examples: [
      { code: "ec_…", account_name: "Water works", email: "ada@example.com", password: "rain over the reservoir" },
    ],
  });

/** Body of Sign In. */
export const signInRequestSchema = z
  .strictObject({ email: emailSchema, password: passwordSchema })
  .meta({ id: "SignInRequest", examples: [{ email: "ada@example.com", password: "rain over the reservoir" }] });

/** Body of Accept Invitation, which also sets a password after a reset. */
export const invitationAcceptanceSchema = z
  .strictObject({ code: codeSchema, password: passwordSchema, name: userNameSchema.optional() })
  .meta({ id: "InvitationAcceptance", examples: [{ code: "ec_…", password: "rain over the reservoir" }] });

/** Body of Change Password. */
export const passwordChangeSchema = z
  .strictObject({ current_password: passwordSchema, password: passwordSchema })
  .meta({
    id: "PasswordChange",
    examples: [{ current_password: "rain over the reservoir", password: "a long way to the pump house" }],
  });

/** Response of Get Sign-In Options: the ways to sign in. */
export const signInOptionsSchema = z
  .strictObject({
    set_up: z.boolean().meta({ description: "Whether there is no user yet: a set-up code makes the first." }),
    oidc: z
      .strictObject({ name: z.string().meta({ description: "Name of the provider, for the button." }) })
      .optional()
      .meta({ description: "Only where an OpenID Connect provider is configured." }),
    secure: z.boolean().meta({
      description: "Whether browsers keep the session cookie over this connection: HTTPS, or HTTP on loopback.",
    }),
  })
  .meta({ id: "SignInOptions" });
export type SignInOptions = z.output<typeof signInOptionsSchema>;

const roleValuesSchema = z.array(z.string()).meta({ description: "Values that give this role." });

/** Response of Get Sign-In Settings. */
export const signInSettingsSchema = z
  .strictObject({
    oidc: z
      .strictObject({
        name: z.string().meta({ description: "Name of the provider on the sign-in page." }),
        issuer: z.string().meta({ description: "Issuer of the provider.", examples: ["https://id.example.com"] }),
        client_id: z.string().meta({ description: "Id of this service at the provider." }),
        redirect_uri: z
          .string()
          .meta({ description: "Address to allow at the provider, to which it sends people back." }),
        scope: z.string().meta({ description: "Scopes that the provider is asked for." }),
        roles_claim: z.string().meta({ description: "Claim with the values that give roles." }),
        roles: z
          .strictObject({
            viewer: roleValuesSchema,
            installer: roleValuesSchema,
            operator: roleValuesSchema,
            admin: roleValuesSchema,
          })
          .nullable()
          .meta({ description: "Values of the claim for each role; null if roles are set here alone." }),
        domains: z.array(z.string()).meta({ description: "Domains of the addresses that may sign in; empty for all." }),
        creates_users: z.boolean().meta({
          description: "Whether people who were not invited become users of this account when they sign in first.",
        }),
      })
      .nullable()
      .meta({ description: "The OpenID Connect provider; null if none is configured." }),
  })
  .meta({ id: "SignInSettings" });
export type SignInSettings = z.output<typeof signInSettingsSchema>;

export const userSchema = z
  .strictObject({
    id: z.string().meta({ description: "Id of the user.", examples: ["usr_01KAN9BZ5V3S0Y4M6T8R2X7Q1C"] }),
    email: z.string().meta({ description: "Address the person signs in with." }),
    name: z.string().meta({ description: "Name of the person." }),
    role: roleSchema,
    state: z.enum(["invited", "active", "disabled"]).meta({
      description: "`invited`: has no password yet. `disabled`: cannot sign in.",
    }),
    sign_in: z.enum(["password", "oidc"]).meta({ description: "How the person signs in." }),
    created_at: unixSeconds("When the user was created."),
    last_sign_in_at: unixSeconds("When the person signed in last; null for never.").nullable(),
  })
  .meta({ id: "User" });
export type UserBody = z.output<typeof userSchema>;

export const userListSchema = z
  .strictObject({
    users: z.array(userSchema).meta({ description: "The users of this page, oldest first." }),
    next_cursor: z.string().nullable().meta({ description: "Cursor of the next page; `null` on the last one." }),
  })
  .meta({ id: "UserList" });
export type UserList = z.output<typeof userListSchema>;

/** Query of lists of users and keys. */
export const pageQuerySchema = z.strictObject({
  limit: pageSizeSchema.optional(),
  cursor: cursorSchema.optional(),
});

/** Body of Invite User. */
export const userInvitationSchema = z
  .strictObject({
    email: emailSchema,
    name: userNameSchema.optional().meta({ description: "Name of the person; the address by default." }),
    role: roleSchema,
  })
  .meta({ id: "UserInvitation", examples: [{ email: "bob@example.com", role: "operator" }] });

const oneTimeLinkSchema = z.strictObject({
  link: z.string().meta({ description: "Link that sets the password. Shown once; it can be used once." }),
  expires_at: unixSeconds("When the link expires."),
});

/** Response of Invite User. */
export const invitedUserSchema = z
  .strictObject({
    user: userSchema.meta({ description: "The user." }),
    invitation: oneTimeLinkSchema.meta({ description: "The link for the person." }),
    role_decided_by: z
      .string()
      .nullable()
      .meta({
        description:
          "Name of the identity provider, where it decides about roles (`oidc_roles`): a person who signs in with it has the role of " +
          "its groups from then on, whatever the invitation says. null: the invitation decides.",
      }),
  })
  .meta({ id: "InvitedUser" });
export type InvitedUser = z.output<typeof invitedUserSchema>;

/** Response of Reset Password. */
export const passwordResetSchema = z
  .strictObject({ reset: oneTimeLinkSchema.meta({ description: "The link for the person." }) })
  .meta({ id: "PasswordReset" });
export type PasswordReset = z.output<typeof passwordResetSchema>;

/** Body of Update User. Omitted fields keep their values; at least one field is required. */
export const userUpdateSchema = z
  .strictObject({
    name: userNameSchema.optional(),
    role: roleSchema.optional(),
    disabled: z.boolean().optional().meta({ description: "Whether the person is kept from signing in." }),
  })
  .meta({ id: "UserUpdate", minProperties: 1, examples: [{ role: "operator" }] });
