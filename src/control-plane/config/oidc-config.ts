import { readFileSync } from "node:fs";
import { z } from "zod";
import { ROLES, type Role } from "../core/people/roles.ts";
import type { IdentityRules } from "../core/people/oidc-identity.ts";

const text = z.string().min(1).max(1_024);
const values = (role: Role) =>
  z
    .array(text)
    .max(100)
    .optional()
    .meta({ description: `Values of the claim that give the role ${role}.` });
const LOOPBACK = /^(?:127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\]|localhost)$/;
const DOMAIN = /^[\p{L}\p{N}](?:[\p{L}\p{N}.-]*[\p{L}\p{N}])?$/u;

/** The keys of the configuration that name an OpenID Connect provider. */
export const oidcShape = {
  oidc_issuer: text.optional().meta({
    description:
      "Issuer of the OpenID Connect provider that people may sign in with, with `public_url`; its address without /.well-known/openid-configuration.",
    examples: ["https://id.example.com/realms/example"],
  }),
  oidc_client_id: text
    .optional()
    .meta({ description: "Id of this service at the provider.", examples: ["edge-control"] }),
  oidc_client_secret_file: text.optional().meta({
    description:
      "File with the secret of the client; without it the client is a public one. Keep it readable by the service only.",
    examples: ["/etc/edge-control/oidc-secret"],
  }),
  oidc_name: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .meta({ description: "Name of the provider on the sign-in page; its host by default.", examples: ["Example ID"] }),
  oidc_scope: text
    .default("openid email profile")
    .meta({ description: "Scopes to ask the provider for; `openid` has to be one of them." }),
  oidc_roles_claim: text.default("roles").meta({
    description: "Claim with the values that give roles: a name, or names separated by dots, as in realm_access.roles.",
  }),
  oidc_roles: z
    .strictObject({
      viewer: values("viewer"),
      installer: values("installer"),
      operator: values("operator"),
      admin: values("admin"),
    })
    .optional(),
  oidc_verified_claim: text.default("email_verified").meta({
    description: "Claim that says whether the provider has verified the person's address.",
  }),
  oidc_domains: z
    .array(z.string().max(253).regex(DOMAIN, "must be a domain such as example.com"))
    .max(100)
    .default([])
    .meta({ description: "Domains of the addresses of people who may sign in with the provider; all by default." }),
  oidc_account: text.optional().meta({
    description:
      "Id of the account in which people with a role by `oidc_roles` become users when they sign in first; without it people have to be invited.",
    examples: ["acc_64f0c2b1a9d84f7e8a1b2c3d"],
  }),
};

type OidcKeys = z.output<z.ZodObject<typeof oidcShape>> & { readonly public_url?: string | undefined };
type Issue = (key: string, message: string) => void;

/** An OpenID Connect provider, and what its claims mean. */
export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecretFile: string | undefined;
  readonly name: string;
  readonly scope: string;
  /** Where the provider sends people back to. */
  readonly redirectUri: string;
  readonly rules: IdentityRules;
}

const CALLBACK_PATH = "/v1/oidc/callback";

/** Reports every combination of the keys that has no meaning. */
export function checkOidcKeys(keys: OidcKeys, issue: Issue): void {
  const { oidc_issuer: issuer, oidc_client_id: clientId, public_url: publicUrl, oidc_roles: roles } = keys;
  const others = ["oidc_client_id", "oidc_client_secret_file", "oidc_name", "oidc_roles", "oidc_account"] as const;
  if (issuer === undefined) {
    for (const key of others) if (keys[key] !== undefined) issue(key, "set oidc_issuer beside it");
    if (keys.oidc_domains.length > 0) issue("oidc_domains", "set oidc_issuer beside it");
    return;
  }
  const problem = findIssuerProblem(issuer);
  if (problem !== undefined) issue("oidc_issuer", problem);
  if (clientId === undefined) issue("oidc_client_id", "set it beside oidc_issuer");
  if (publicUrl === undefined) issue("public_url", "set it beside oidc_issuer: the provider sends people back to it");
  if (!keys.oidc_scope.split(" ").includes("openid")) issue("oidc_scope", "must contain openid");
  if (keys.oidc_account !== undefined && roles === undefined)
    issue("oidc_roles", "set it beside oidc_account: it says what people without an invitation may do");
  if (roles && !ROLES.some((role) => roles[role]?.length)) issue("oidc_roles", "must name values of at least one role");
}

/** Returns what is wrong with the secret's file. It is read again for the provider; this is to say it early. */
export function findOidcFileErrors({ oidc_client_secret_file: file }: OidcKeys): string[] {
  if (file === undefined) return [];
  try {
    return /^[^\r\n]+\s*$/.test(readFileSync(file, "utf8"))
      ? []
      : [`oidc_client_secret_file: ${file} does not contain one line with the secret`];
  } catch (error) {
    return [`oidc_client_secret_file: ${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`];
  }
}

/** The provider that a valid configuration names, if it does. */
export function oidcSettingsOf(keys: OidcKeys): OidcSettings | undefined {
  const { oidc_issuer: issuer, oidc_client_id: clientId, public_url: publicUrl } = keys;
  if (issuer === undefined || clientId === undefined || publicUrl === undefined) return undefined;
  return {
    issuer,
    clientId,
    clientSecretFile: keys.oidc_client_secret_file,
    name: keys.oidc_name ?? new URL(issuer).host,
    scope: keys.oidc_scope,
    redirectUri: new URL(CALLBACK_PATH, publicUrl).href,
    rules: {
      rolesClaim: keys.oidc_roles_claim,
      roles: keys.oidc_roles,
      verifiedClaim: keys.oidc_verified_claim,
      domains: keys.oidc_domains.map((domain) => domain.toLowerCase()),
      accountId: keys.oidc_account,
    },
  };
}

function findIssuerProblem(issuer: string): string | undefined {
  const url = URL.parse(issuer);
  if (!url || !/^https?:$/.test(url.protocol)) return "must be an address such as https://id.example.com";
  if (url.username !== "" || url.search !== "" || url.hash !== "") return "must be an address without user, ? and #";
  if (url.protocol === "http:" && !LOOPBACK.test(url.hostname)) return "must be https:// unless it is on this machine";
  return undefined;
}
