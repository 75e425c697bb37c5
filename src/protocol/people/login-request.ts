import { z } from "zod";
import { displayText } from "../values/sanitized-text.ts";
import { ROLES, roleSchema } from "./principal.ts";
import { MAX_UNIX_SECONDS, unixSeconds } from "../values/scalars.ts";
import { formatTypedCode, parseTypedCode, TYPED_CODE_ALPHABET } from "../values/typed-code.ts";

/**
 * Log-in of a program by a person who is signed in elsewhere, in the shape of RFC 8628: the program starts a request and
 * shows its user code; the person types the code in the console and confirms; the program fetches its API key.
 */

/** Characters of a user code, of `TYPED_CODE_ALPHABET`. */
export const USER_CODE_LENGTH = 8;
export const USER_CODE_ALPHABET = TYPED_CODE_ALPHABET;
/** How long a key made by log-in lasts by default, in days. */
export const LOGIN_KEY_DEFAULT_DAYS = 90;
/** How long a key made by log-in lasts at most, in days, unless an admin confirms it. */
export const LOGIN_KEY_MAX_DAYS = 366;

/** The console's page that confirms a request; a code follows in the fragment, which is sent to no server. */
export const LOGIN_REQUEST_PAGE = "/login-request";

/** Body of Start Log-In. */
export const loginRequestCreationSchema = z
  .strictObject({
    client_name: displayText(1, 96).meta({
      description: "What asks for the key, as the person will see it. The key is named so.",
      examples: ["edgectl on build-7"],
    }),
  })
  .meta({ id: "LoginRequestCreation", examples: [{ client_name: "edgectl on build-7" }] });

/** Response of Start Log-In. */
export const startedLoginSchema = z
  .strictObject({
    device_code: z.string().meta({ description: "Secret that the key is fetched with. Keep it in memory." }),
    user_code: z.string().meta({ description: "Code that the person types or compares.", examples: ["7K3M-XW9T"] }),
    verification_url: z.string().meta({ description: "Page where the person types the code." }),
    verification_url_complete: z
      .string()
      .meta({ description: "The same page with the code in the fragment of the address." }),
    interval_s: z.int().min(1).meta({ description: "Shortest time between two requests for the key, in seconds." }),
    expires_in_s: z.int().min(1).meta({ description: "Time until the request expires, in seconds." }),
  })
  .meta({ id: "StartedLogin" });
export type StartedLogin = z.output<typeof startedLoginSchema>;

/** Body of Fetch Key of Log-In. */
export const loginTokenRequestSchema = z
  .strictObject({ device_code: z.string().min(1).max(128).meta({ description: "As returned by Start Log-In." }) })
  .meta({ id: "LoginTokenRequest", examples: [{ device_code: "el_…" }] });

/** Response 202 of Fetch Key of Log-In. */
export const pendingLoginSchema = z
  .strictObject({
    state: z.literal("pending").meta({ description: "The request is not confirmed or denied yet." }),
    interval_s: z.int().min(1).meta({ description: "Shortest time until the next request, in seconds." }),
  })
  .meta({ id: "PendingLogin" });
export type PendingLogin = z.output<typeof pendingLoginSchema>;

/** Response 200 of Fetch Key of Log-In. */
export const loginKeySchema = z
  .strictObject({
    api_key: z.string().meta({ description: "The secret. Shown only once; the service stores its hash." }),
    key_id: z.string().meta({ description: "Id of the key." }),
    role: roleSchema,
    expires_at: unixSeconds("From then on the key is refused; null for never.").nullable(),
    account: z
      .strictObject({
        id: z.string().meta({ description: "Id of the account." }),
        name: z.string().meta({ description: "Name of the account." }),
      })
      .meta({ description: "The account of the person who confirmed the request." }),
  })
  .meta({ id: "LoginKey" });
export type LoginKey = z.output<typeof loginKeySchema>;

/** Response of Get Log-In Request and of its decision: what the person is asked to confirm. */
export const loginRequestSchema = z
  .strictObject({
    user_code: z.string().meta({ description: "Code of the request.", examples: ["7K3M-XW9T"] }),
    client_name: z.string().meta({ description: "What asks, in its own words: not verified." }),
    source: z.string().nullable().meta({ description: "Address that the request came from; null if it is unknown." }),
    created_at: unixSeconds("When it was started."),
    expires_at: unixSeconds("When it expires."),
    state: z.enum(["pending", "approved", "denied"]).meta({ description: "Whether it was decided, and how." }),
    roles: z.array(roleSchema).meta({
      description: "The roles that the person may give the key, lowest first: the person's own and those below it.",
    }),
  })
  .meta({ id: "LoginRequest" });
export type LoginRequestBody = z.output<typeof loginRequestSchema>;

/** Body of Decide Log-In Request. */
export const loginDecisionSchema = z
  .discriminatedUnion("decision", [
    z.strictObject({
      decision: z.literal("approve").meta({ description: "The program gets a key." }),
      role: z.enum(ROLES).meta({ description: "Role of the key: at most the person's own." }),
      expires_at: z
        .int()
        .min(0)
        .max(MAX_UNIX_SECONDS)
        .nullable()
        .optional()
        .meta({
          description:
            `From then on the key is refused. Unix seconds, UTC; in ${LOGIN_KEY_DEFAULT_DAYS} days by default. Null (never) ` +
            `and more than ${LOGIN_KEY_MAX_DAYS} days only by an admin.`,
        }),
    }),
    z.strictObject({ decision: z.literal("deny").meta({ description: "The program gets no key." }) }),
  ])
  .meta({ id: "LoginDecision", examples: [{ decision: "approve", role: "operator" }, { decision: "deny" }] });
export type LoginDecision = z.output<typeof loginDecisionSchema>;

/** Normalizes a typed user code; `undefined` when it is not a valid one. */
export function parseUserCode(typed: string): string | undefined {
  return parseTypedCode(typed, USER_CODE_LENGTH);
}

/** Formats a user code in two groups, such as `7K3M-XW9T`. */
export function formatUserCode(code: string): string {
  return formatTypedCode(code);
}
