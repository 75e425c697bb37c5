import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { type Clock, unixNow } from "../../../lib/clock.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import { invalidRequest } from "../../../protocol/errors/request-error.ts";
import type { UserBody } from "../../../protocol/people/users.ts";
import type { Role } from "../../core/people/roles.ts";
import { isEmail, type User } from "../../core/people/user.ts";
import { createId } from "../../accounts/secrets.ts";
import type { UserChangeResult } from "../../store/users.ts";
import { accountOf } from "../auth.ts";
import { type Resource, stateOf } from "../conditional-requests.ts";
import type { ApiBase } from "../context.ts";

/** Path parameter of every endpoint of one user. */
export const userParams = z.object({ user_id: z.string().meta({ description: "Id of the user." }) });

interface NewUser {
  readonly accountId: string;
  readonly email: string;
  readonly name: string | undefined;
  readonly role: Role;
}

/** A user who has no password yet. */
export function newUser(clock: Clock, { accountId, email, name, role }: NewUser): User {
  const typed = email.trim();
  return {
    id: createId("usr_"),
    accountId,
    email: typed,
    name: name ?? typed.slice(0, 128).toWellFormed(),
    role,
    passwordHash: undefined,
    oidc: undefined,
    isDisabled: false,
    createdAt: unixNow(clock),
    lastSignInAt: undefined,
  };
}

/** Finds a user of the account. Error: `UserNotFound`. */
export async function findUser(
  { store }: Pick<ApiBase, "store">,
  request: FastifyRequest<{ Params: { user_id: string } }>,
): Promise<User> {
  const user = await store.users.findUser(request.params.user_id);
  if (user?.accountId !== accountOf(request)) throw new EdgeError("UserNotFound");
  return user;
}

export function requireEmail(email: string): void {
  if (!isEmail(email.trim()))
    throw invalidRequest([{ path: "email", reason: "is not an address such as ada@example.com" }]);
}

/** Errors: `UserNotFound`, `LastAdmin`. */
export function requireChanged(result: UserChangeResult): void {
  if (result === "unknown") throw new EdgeError("UserNotFound");
  if (result === "last_admin") throw new EdgeError("LastAdmin");
}

/** A user as its endpoint shows it. A sign-in is no change of a client. */
export function toUserResource(user: User): Resource<UserBody> {
  return { state: userState(user), body: toUserBody(user) };
}

export function userState({ id, email, name, role, isDisabled }: User): string {
  return stateOf(id, email, name, role, isDisabled);
}

export function toUserBody(user: User): UserBody {
  const { id, email, name, role, isDisabled, passwordHash, oidc, createdAt, lastSignInAt } = user;
  const canSignIn = passwordHash !== undefined || oidc !== undefined;
  return {
    id,
    email,
    name,
    role,
    state: isDisabled ? "disabled" : canSignIn ? "active" : "invited",
    sign_in: oidc && passwordHash === undefined ? "oidc" : "password",
    created_at: createdAt,
    last_sign_in_at: lastSignInAt ?? null,
  };
}
