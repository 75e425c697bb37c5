import { userNameSchema } from "../../../protocol/people/users.ts";
import { ROLES, type Role } from "./roles.ts";
import { isEmail, type User } from "./user.ts";

/** What an identity provider says of a person, as it decides about signing in. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
  readonly email: string | undefined;
  /** Whether the provider has made sure that the address is the person's. */
  readonly isEmailVerified: boolean;
  readonly name: string | undefined;
  /** `undefined` if no value of the claim has a role. */
  readonly role: Role | undefined;
}

/** What of a provider's claims counts, and who may sign in by them. */
export interface IdentityRules {
  /** Claim with the values that give roles: a name, or names of nested objects separated by dots. */
  readonly rolesClaim: string;
  /** The values of each role; `undefined` if the provider does not decide about roles. */
  readonly roles: Readonly<Partial<Record<Role, readonly string[] | undefined>>> | undefined;
  /** Claim that says whether the address was verified. */
  readonly verifiedClaim: string;
  /** Domains of addresses that may sign in, lower case; empty for all. */
  readonly domains: readonly string[];
  /** The account of people who were not invited; `undefined` if they may not sign in. */
  readonly accountId: string | undefined;
}

/** Why a person whom the provider has confirmed may not sign in. */
export type IdentityRefusal =
  | "no_email"
  | "email_not_verified"
  | "domain"
  | "no_role"
  | "not_invited"
  | "other_identity"
  | "has_password"
  | "disabled";

/** What is to be done for a person whom the provider has confirmed. */
export type IdentityDecision =
  /** @property user that it is about, if there is one */
  | { readonly kind: "refused"; readonly reason: IdentityRefusal; readonly user: User | undefined }
  /**
   * @property role the one to give the user first, if it has another
   * @property email the address to give the user first, if it has another
   */
  | { readonly kind: "known"; readonly user: User; readonly role: Role; readonly email: string }
  | { readonly kind: "link"; readonly user: User; readonly role: Role }
  | { readonly kind: "create"; readonly accountId: string; readonly email: string; readonly role: Role };
/** The users with the identity, and with its address. */
interface IdentityUsers {
  readonly byIdentity: User | undefined;
  readonly byEmail: User | undefined;
}

const MAX_NAME_LENGTH = 128;
const MAX_VALUES = 1_000;

/** @param claims of the ID token and, where it lacks some, of the provider's userinfo endpoint */
export function readIdentity(
  issuer: string,
  subject: string,
  claims: Readonly<Record<string, unknown>>,
  rules: IdentityRules,
): Identity {
  const { email, name } = claims;
  return {
    issuer,
    subject,
    email: typeof email === "string" && isEmail(email) ? email : undefined,
    isEmailVerified: isYes(findClaim(claims, rules.verifiedClaim)),
    name: readName(name),
    role: roleOf(findClaim(claims, rules.rolesClaim), rules),
  };
}

/**
 * Decides whether a person signs in, and as which user. A known person is the one with the same issuer and subject. The address,
 * which may change hands, is looked at only to link a user who was invited and has never signed in.
 */
export function decideIdentity(identity: Identity, users: IdentityUsers, rules: IdentityRules): IdentityDecision {
  const decision = decide(identity, users, rules);
  if (typeof decision !== "string") return decision;
  return { kind: "refused", reason: decision, user: users.byIdentity ?? users.byEmail };
}

function decide(
  identity: Identity,
  { byIdentity, byEmail }: IdentityUsers,
  rules: IdentityRules,
): IdentityDecision | IdentityRefusal {
  const { email, isEmailVerified, role } = identity;
  if (rules.roles && role === undefined) return "no_role";
  const domainProblem = findDomainProblem(identity, rules);
  if (domainProblem) return domainProblem;
  if (byIdentity) {
    if (byIdentity.isDisabled) return "disabled";
    // One that another user has stays that user's.
    const isFree = byEmail === undefined || byEmail.id === byIdentity.id;
    const isTakenOver = email !== undefined && isEmailVerified && isFree;
    return {
      kind: "known",
      user: byIdentity,
      role: role ?? byIdentity.role,
      email: isTakenOver ? email : byIdentity.email,
    };
  }
  if (email === undefined) return "no_email";
  if (!isEmailVerified) return "email_not_verified";
  if (byEmail) {
    if (byEmail.isDisabled) return "disabled";
    if (byEmail.oidc) return "other_identity";
    // The password is the proof that was agreed on. A provider does not replace it unasked.
    if (byEmail.passwordHash !== undefined) return "has_password";
    return { kind: "link", user: byEmail, role: role ?? byEmail.role };
  }
  if (rules.accountId === undefined || role === undefined) return "not_invited";
  return { kind: "create", accountId: rules.accountId, email, role };
}

function findDomainProblem(
  { email, isEmailVerified }: Identity,
  { domains }: IdentityRules,
): IdentityRefusal | undefined {
  if (domains.length === 0) return undefined;
  if (email === undefined) return "no_email";
  if (!isEmailVerified) return "email_not_verified";
  const domain = email.slice(email.lastIndexOf("@") + 1).toLowerCase();
  return domains.includes(domain) ? undefined : "domain";
}

/** Returns the highest role that one of the claim's values has. */
function roleOf(claim: unknown, { roles }: IdentityRules): Role | undefined {
  if (!roles) return undefined;
  const values = new Set((Array.isArray(claim) ? (claim as unknown[]) : [claim]).slice(0, MAX_VALUES));
  return ROLES.findLast((role) => roles[role]?.some((value) => values.has(value)));
}

/** A name that cannot be shown as it is, is none. */
function readName(name: unknown): string | undefined {
  if (typeof name !== "string") return undefined;
  return userNameSchema.safeParse(name.trim().slice(0, MAX_NAME_LENGTH).toWellFormed()).data;
}

/** A claim by its whole name, since names may contain dots, or else within nested objects. */
function findClaim(claims: Readonly<Record<string, unknown>>, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let value: unknown = claims;
  for (const part of name.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[part];
  }
  return value;
}

/** Some providers write booleans as texts or numbers. */
function isYes(value: unknown): boolean {
  return value === true || value === 1 || value === "true" || value === "1";
}
