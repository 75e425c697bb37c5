import { type Clock, unixNow } from "../../../lib/clock.ts";
import { errorText } from "../../../lib/error-text.ts";
import type { Logger } from "../../../lib/logger.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import {
  decideIdentity,
  type Identity,
  type IdentityDecision,
  type IdentityRefusal,
  readIdentity,
} from "../../core/people/oidc-identity.ts";
import type { Role } from "../../core/people/roles.ts";
import { MAX_USERS_PER_ACCOUNT, type User } from "../../core/people/user.ts";
import type { OidcSettings } from "../../config/oidc-config.ts";
import { createId } from "../secrets.ts";
import { auditEntry } from "../audit-entry.ts";
import type { RefusalLog } from "../refusal-log.ts";
import type { AuditEntry } from "../../store/audit.ts";
import type { Store } from "../../store/store.ts";
import type { UserChange } from "../../store/users.ts";
import { FailedSources } from "../failed-sources.ts";
import type { OidcChecks, OidcProvider } from "./provider.ts";

const MESSAGES: Readonly<Record<IdentityRefusal, string>> = {
  no_email: "The identity provider does not say which email address you have.",
  email_not_verified: "The identity provider has not verified your email address.",
  domain: "Email addresses of your domain may not sign in here.",
  no_role: "The identity provider gives you no role for this service.",
  not_invited: "You have not been invited to this service.",
  other_identity: "The user with your email address belongs to another person at the identity provider.",
  has_password: "The user with your email address signs in with a password.",
  disabled: "The user may not sign in.",
};

/** A user who cannot be stored any more as was decided: a request at the same time was faster. */
const MAX_TRIES = 3;

export interface OidcSignInOptions {
  readonly settings: OidcSettings;
  readonly provider: Pick<OidcProvider, "authorizationUrl" | "exchange" | "createChecks">;
  readonly store: Pick<Store, "users" | "accounts">;
  readonly refusals: Pick<RefusalLog, "record">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Signs people in whom an OpenID Connect provider has confirmed. */
export class OidcSignIn {
  readonly #options: OidcSignInOptions;
  readonly #failed: FailedSources;

  constructor(options: OidcSignInOptions) {
    this.#options = options;
    this.#failed = new FailedSources(options.clock);
  }

  /** Begins a sign-in. The browser keeps the checks until it comes back. Error: `OidcFailed`. */
  async begin(): Promise<{ readonly url: URL; readonly checks: OidcChecks }> {
    const { provider } = this.#options;
    const checks = provider.createChecks();
    return { url: await this.#ask("unreachable", () => provider.authorizationUrl(checks)), checks };
  }

  /**
   * Returns the user whom the provider has confirmed, linked or created where that is allowed, with the role it has now.
   * Errors: `OidcFailed`, `OidcNotAllowed`, each with `details.reason`; `TooManyRequests` after too many failures of the
   * source, so that a client cannot make the service send codes that the provider refuses.
   *
   * @param query what the provider has sent the browser back with
   * @param source network address of the client
   */
  async finish(query: string, checks: OidcChecks, source: string): Promise<User> {
    const { settings, provider } = this.#options;
    this.#failed.requireAllowed(source);
    const { subject, claims } = await this.#ask("response", () => provider.exchange(query, checks)).catch(
      (error: unknown) => {
        this.#failed.record(source);
        throw error;
      },
    );
    const identity = readIdentity(settings.issuer, subject, claims, settings.rules);
    for (let tries = 1; tries <= MAX_TRIES; tries++) {
      const user = await this.#carryOut(await this.#decide(identity), identity, source);
      if (user) return user;
    }
    throw new EdgeError("OidcFailed", undefined, { reason: "conflict" });
  }

  async #decide(identity: Identity): Promise<IdentityDecision> {
    const { store, settings } = this.#options;
    const { issuer, subject, email } = identity;
    const [byIdentity, byEmail] = await Promise.all([
      store.users.findUserByIdentity(issuer, subject),
      email === undefined ? undefined : store.users.findUserByEmail(email),
    ]);
    return decideIdentity(identity, { byIdentity, byEmail }, settings.rules);
  }

  async #carryOut(decision: IdentityDecision, identity: Identity, source: string): Promise<User | undefined> {
    switch (decision.kind) {
      case "refused":
        throw await this.#refuse(decision.reason, identity, decision.user, source);
      case "known":
        return this.#takeOver(decision, source);
      case "link": {
        const { user, role } = decision;
        // The provider's groups decide, whatever the invitation says.
        const details = { role, linked: true, ...(role !== user.role && { invited_role: user.role }) };
        const audit = this.#entry("user.changed", user, source, details);
        return this.#options.store.users.linkIdentity({ userId: user.id, identity: linkOf(identity), role, audit });
      }
      case "create":
        return this.#create(decision.accountId, decision.email, decision.role, identity, source);
    }
  }

  /** Takes the role and the address over that a known person has at the provider now. */
  async #takeOver({ user, role, email }: Decided<"known">, source: string): Promise<User | undefined> {
    const after = role === user.role ? user : await this.#change(user, { role }, source);
    return !after || email === user.email ? after : this.#change(after, { email }, source);
  }

  /** The last local admin keeps the role: one person has to get in without the provider. */
  async #change(user: User, change: Pick<UserChange, "role" | "email">, source: string): Promise<User | undefined> {
    const { store, logger } = this.#options;
    const audit = this.#entry("user.changed", user, source, { ...change });
    const result = await store.users.changeUser(user.accountId, user.id, change, audit);
    if (result === "changed") return { ...user, ...change };
    if (result === "unknown") return undefined;
    const why = result === "email_taken" ? "another user has the address" : "the user is the last local admin";
    logger.warn({ user_id: user.id, why }, "what the identity provider says of a person is not taken over");
    return user;
  }

  async #create(
    accountId: string,
    email: string,
    role: Role,
    identity: Identity,
    source: string,
  ): Promise<User | undefined> {
    const { store, clock, logger } = this.#options;
    if (!(await store.accounts.findAccount(accountId))) {
      logger.error(
        { account_id: accountId },
        "oidc_account names no account: people without an invitation cannot sign in",
      );
      throw await this.#refuse("not_invited", identity, undefined, source);
    }
    const user: User = {
      id: createId("usr_"),
      accountId,
      email,
      name: identity.name ?? email,
      role,
      passwordHash: undefined,
      oidc: linkOf(identity),
      isDisabled: false,
      createdAt: unixNow(clock),
      lastSignInAt: undefined,
    };
    const audit = this.#entry("user.created", user, source, { role });
    const result = await store.users.createUser(user, undefined, audit, MAX_USERS_PER_ACCOUNT);
    if (result === "too_many") {
      logger.warn(
        { account_id: accountId, limit: MAX_USERS_PER_ACCOUNT },
        "the account has reached its limit of users",
      );
      throw new EdgeError("QuotaExceeded", "The account has reached its limit of users; remove some first.", {
        quota: "users",
        limit: MAX_USERS_PER_ACCOUNT,
      });
    }
    return result === "created" ? user : undefined;
  }

  async #refuse(
    reason: IdentityRefusal,
    { subject }: Identity,
    user: User | undefined,
    source: string,
  ): Promise<EdgeError> {
    const { logger, refusals, clock } = this.#options;
    logger.warn({ reason, subject, user_id: user?.id }, "sign-in with the identity provider refused");
    // Of no account otherwise.
    if (user) {
      const origin = {
        accountId: user.accountId,
        actor: { kind: "user", id: user.id, name: user.email },
        source,
      } as const;
      const facts = { action: "session.opened", outcome: "OidcNotAllowed", details: { method: "oidc" } } as const;
      await refusals.record(auditEntry(origin, clock, facts));
    }
    return new EdgeError("OidcNotAllowed", MESSAGES[reason], { reason });
  }

  async #ask<Result>(reason: "unreachable" | "response", call: () => Promise<Result>): Promise<Result> {
    try {
      return await call();
    } catch (error) {
      // What the provider says of it is for the operator, and holds neither codes nor tokens.
      this.#options.logger.warn({ reason, cause: describe(error) }, "the identity provider did not confirm a sign-in");
      throw new EdgeError("OidcFailed", undefined, { reason }, { cause: error });
    }
  }

  /** The provider has decided, so the service is the one who acts. */
  #entry(
    action: "user.changed" | "user.created",
    { id, email, accountId }: User,
    source: string,
    details: AuditEntry["details"],
  ): AuditEntry {
    const { clock, settings } = this.#options;
    const origin = { accountId, actor: { kind: "service", id: "oidc", name: settings.name }, source } as const;
    return auditEntry(origin, clock, { action, subject: { kind: "user", id, name: email }, details });
  }
}

type Decided<K extends IdentityDecision["kind"]> = Extract<IdentityDecision, { readonly kind: K }>;

function linkOf({ issuer, subject }: Identity): NonNullable<User["oidc"]> {
  return { issuer, subject };
}

/** The codes and messages of an error and of what has caused it. */
function describe(error: unknown): string {
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: unknown };
  const own = `${typeof code === "string" ? `${code}: ` : ""}${errorText(error)}`;
  return cause instanceof Error ? `${own} (${describe(cause)})` : own;
}
