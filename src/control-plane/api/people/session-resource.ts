import type { FastifyReply, FastifyRequest } from "fastify";
import type { SessionBody } from "../../../protocol/people/principal.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import { permissionsIn } from "../../core/people/roles.ts";
import { MAX_SESSION_S, SESSION_IDLE_S, type SignInMethod } from "../../core/people/session.ts";
import type { User } from "../../core/people/user.ts";
import { userSubject } from "../../accounts/access-watcher.ts";
import { openSession } from "../../accounts/open-session.ts";
import { principalSubject } from "../../accounts/watch-principal.ts";
import type { Principal, UserPrincipal } from "../../accounts/principal.ts";
import type { Account } from "../../store/accounts.ts";
import type { Store } from "../../store/store.ts";
import { principalOf } from "../auth.ts";
import type { ApiContext } from "../context.ts";
import { unixNow } from "../../../lib/clock.ts";
import type { AuditFacts } from "../../accounts/audit-entry.ts";
import { auditOfUser, userSubjectOf } from "../audit/audit-of.ts";

/** Opens a session for a user who has proved to be one, and sets its cookie. Error: `SignInFailed`. */
export async function signIn(
  context: ApiContext<"accounts">,
  request: FastifyRequest,
  reply: FastifyReply,
  user: User,
  method: SignInMethod,
): Promise<SessionBody> {
  const { store, clock } = context;
  const { site, access, principals } = context.accounts;
  const replaces = site.sessionSecretOf(request);
  const facts: AuditFacts = { action: "session.opened", subject: userSubjectOf(user), details: { method } };
  // It may be one of another user.
  const replaced = await principals.ofSession(replaces);
  const audit = auditOfUser(request, clock, user, facts);
  const secret = await openSession(context, { user, method, source: request.ip, replaces, audit });
  if (secret === undefined) throw new EdgeError("SignInFailed");
  site.setSessionCookie(request, reply, secret, MAX_SESSION_S);
  if (replaced) await access.recheck(principalSubject(replaced));
  // A user has a bounded number of sessions: one that was used long ago may have ended for this one.
  await access.recheck(userSubject(user.id));
  const { id, accountId, name, role } = user;
  const expiresAt = unixNow(clock) + SESSION_IDLE_S;
  return readSession(store, { kind: "user", id, accountId, name, role, expiresAt, user });
}

export async function findAccount(store: Pick<Store, "accounts">, id: string): Promise<Account> {
  const account = await store.accounts.findAccount(id);
  if (!account) throw new Error(`there is no account ${id}`);
  return account;
}

type Shown = Pick<Principal, "id" | "accountId" | "name" | "role" | "expiresAt"> &
  ({ readonly kind: "user"; readonly user: User } | Pick<Extract<Principal, { kind: "key" }>, "kind" | "key">);

/** Returns who the principal is and what it may do. */
export async function readSession(store: Pick<Store, "accounts">, principal: Shown): Promise<SessionBody> {
  const { kind, id, accountId, name, role, expiresAt } = principal;
  const account = await findAccount(store, accountId);
  const permissions = permissionsIn(role, await store.accounts.readOperatorsUpdateAgents(accountId));
  const given = kind === "key" ? principal.key.permissions : [];
  return {
    principal: { kind, id, name, ...(kind === "user" && { email: principal.user.email }) },
    account: { id: account.id, name: account.name },
    role,
    permissions: [...permissions, ...given],
    expires_at: expiresAt ?? null,
  };
}

/** The user of a request that only people can send. */
export function userOf(request: FastifyRequest): UserPrincipal {
  const principal = principalOf(request);
  if (principal.kind !== "user") throw new Error("the endpoint is open to API keys");
  return principal;
}
