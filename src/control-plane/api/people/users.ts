import { z } from "zod";
import { userSubject } from "../../accounts/access-watcher.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import { invalidRequest } from "../../../protocol/errors/request-error.ts";
import {
  type InvitedUser,
  invitedUserSchema,
  pageQuerySchema,
  type PasswordReset,
  passwordResetSchema,
  type UserBody,
  userInvitationSchema,
  type UserList,
  userListSchema,
  userSchema,
  userUpdateSchema,
} from "../../../protocol/people/users.ts";
import { MAX_USERS_PER_ACCOUNT } from "../../core/people/user.ts";
import { createCode, linkOf } from "../../accounts/one-time-link.ts";
import { oidcSettingsOf } from "../../config/oidc-config.ts";
import type { UserChange } from "../../store/users.ts";
import { accountOf } from "../auth.ts";
import { changeResource, ifMatchHeaders, preconditionOf, sendResource } from "../conditional-requests.ts";
import type { Api, ApiBase, ApiContext } from "../context.ts";
import { ENTITY_TAG_HEADERS, errors, errorsWithBody, json } from "../docs/responses.ts";
import { pageOf } from "../page.ts";
import type { AuditFacts } from "../../accounts/audit-entry.ts";
import { auditOf, userSubjectOf } from "../audit/audit-of.ts";
import {
  findUser,
  newUser,
  requireChanged,
  requireEmail,
  toUserBody,
  toUserResource,
  userParams,
  userState,
} from "./user-resource.ts";

/** `GET /v1/users`: the people of the account, oldest first. */
export function listUsers(api: Api, { store }: ApiBase): void {
  api.get(
    "/v1/users",
    {
      schema: {
        operationId: "listUsers",
        summary: "Get Users",
        description: "The people of the account in order of creation, oldest first.",
        tags: ["People"],
        querystring: pageQuerySchema,
        response: { 200: json("One page of users.", userListSchema), ...errors() },
      },
    },
    async (request): Promise<UserList> => {
      const { items, nextCursor } = pageOf(await store.users.listUsers(accountOf(request)), request.query);
      return { users: items.map(toUserBody), next_cursor: nextCursor };
    },
  );
}

/** `GET /v1/users/{user_id}`: one person of the account. */
export function getUser(api: Api, context: ApiBase): void {
  api.get(
    "/v1/users/:user_id",
    {
      schema: {
        operationId: "getUser",
        summary: "User Details",
        description: "One person of the account.",
        tags: ["People"],
        params: userParams,
        response: { 200: json("The user.", userSchema), ...errors("UserNotFound") },
      },
    },
    async (request, reply): Promise<UserBody> => sendResource(reply, toUserResource(await findUser(context, request))),
  );
}

/** `POST /v1/users`: invites a person. */
export function inviteUser(
  api: Api,
  { store, clock, config, logger, observer, accounts }: ApiContext<"accounts">,
): void {
  api.post(
    "/v1/users",
    {
      schema: {
        operationId: "inviteUser",
        summary: "Invite User",
        description:
          "Creates a user, and a link with which the person chooses a password. The link is shown once, can be used once, and " +
          "expires after 7 days. The service sends no mail: pass it on.",
        tags: ["People"],
        body: userInvitationSchema,
        response: {
          201: json("The user and the link.", invitedUserSchema, ENTITY_TAG_HEADERS),
          ...errorsWithBody("EmailTaken", "QuotaExceeded"),
        },
      },
    },
    async (request, reply): Promise<InvitedUser> => {
      const accountId = accountOf(request);
      const { email, name, role } = request.body;
      requireEmail(email);
      const user = newUser(clock, { accountId, email, name, role });
      const { code, hash, secret } = createCode(clock, "invitation", { accountId, userId: user.id });
      const details = { role, expires_at: code.expiresAt };
      const audit = auditOf(request, clock, { action: "user.invited", subject: userSubjectOf(user), details });
      const result = await store.users.createUser(user, { code, hash }, audit, MAX_USERS_PER_ACCOUNT);
      if (result === "too_many") {
        observer?.bounded("users_per_account");
        const facts = { quota: "users", used: MAX_USERS_PER_ACCOUNT, limit: MAX_USERS_PER_ACCOUNT };
        throw new EdgeError("QuotaExceeded", "The account has reached its limit of users; remove some first.", facts);
      }
      if (result === "taken") {
        const holder = await store.users.findUserByEmail(email);
        // For the service's operator, who may settle it. The account does not see whose user it is.
        if (holder && holder.accountId !== accountId)
          logger.warn(
            { account_id: accountId, holder_user: holder.id },
            "address refused: a user of another account has it",
          );
        throw new EdgeError("EmailTaken");
      }
      void reply.code(201);
      const link = linkOf(accounts.site.urlOf(request), "invitation", secret);
      const provider = oidcSettingsOf(config);
      return {
        user: sendResource(reply, toUserResource(user)),
        invitation: { link, expires_at: code.expiresAt },
        role_decided_by: provider?.rules.roles ? provider.name : null,
      };
    },
  );
}

/** `PATCH /v1/users/{user_id}`: changes name, role or the right to sign in. */
export function updateUser(api: Api, context: ApiContext<"accounts">): void {
  const { store, clock, accounts } = context;
  api.patch(
    "/v1/users/:user_id",
    {
      schema: {
        operationId: "updateUser",
        summary: "Update User",
        description:
          "Changes the name, the role, or whether the person may sign in. A change of the last two ends the " +
          "person's sessions, and revokes keys of log-ins that may do more than the person by then.",
        tags: ["People"],
        params: userParams,
        headers: ifMatchHeaders,
        body: userUpdateSchema,
        response: {
          200: json("The user.", userSchema),
          ...errorsWithBody("UserNotFound", "LastAdmin", "PreconditionFailed"),
        },
      },
    },
    async (request, reply): Promise<UserBody> => {
      const user = await findUser(context, request);
      const { name, role, disabled } = request.body;
      const change: UserChange = {
        ...(name !== undefined && { name }),
        ...(role !== undefined && { role }),
        ...(disabled !== undefined && { isDisabled: disabled }),
      };
      if (Object.keys(change).length === 0)
        throw invalidRequest([{ path: "", reason: "nothing to update; give at least one of name, role and disabled" }]);
      const facts: AuditFacts = { action: "user.changed", subject: userSubjectOf(user), details: { ...request.body } };
      const audit = auditOf(request, clock, facts);
      const precondition = preconditionOf(request, userState);
      const result = await changeResource(
        reply,
        async () => toUserResource(await findUser(context, request)),
        () => store.users.changeUser(user.accountId, user.id, change, audit, { precondition }),
      );
      requireChanged(result);
      await accounts.access.recheck(userSubject(user.id));
      return sendResource(reply, toUserResource(await findUser(context, request)));
    },
  );
}

/** `DELETE /v1/users/{user_id}`: removes a person from the account. */
export function removeUser(api: Api, context: ApiContext<"accounts">): void {
  const { store, clock, accounts } = context;
  api.delete(
    "/v1/users/:user_id",
    {
      schema: {
        operationId: "removeUser",
        summary: "Remove User",
        description:
          "Removes the person with all sessions and links. Keys of log-ins are revoked; keys that the person " +
          "created in another way stay.",
        tags: ["People"],
        params: userParams,
        headers: ifMatchHeaders,
        response: {
          204: z.undefined().meta({ description: "The user was removed." }),
          ...errorsWithBody("UserNotFound", "LastAdmin", "PreconditionFailed"),
        },
      },
    },
    async (request, reply) => {
      const user = await findUser(context, request);
      const audit = auditOf(request, clock, { action: "user.removed", subject: userSubjectOf(user) });
      const precondition = preconditionOf(request, userState);
      const result = await changeResource(
        reply,
        async () => toUserResource(await findUser(context, request)),
        () => store.users.removeUser(user.accountId, user.id, audit, precondition),
      );
      requireChanged(result);
      await accounts.access.recheck(userSubject(user.id));
      return reply.code(204).send();
    },
  );
}

/** `POST /v1/users/{user_id}/reset`: makes a link that sets another password. */
export function resetPassword(api: Api, context: ApiContext<"accounts">): void {
  const { store, clock, accounts } = context;
  api.post(
    "/v1/users/:user_id/reset",
    {
      schema: {
        operationId: "resetPassword",
        summary: "Reset Password",
        description:
          "Creates a link with which the person chooses another password; for a person who was invited, another invitation. It " +
          "is shown once and replaces earlier links. The old password works until the link is used.",
        tags: ["People"],
        params: userParams,
        response: {
          200: json("The link.", passwordResetSchema),
          ...errorsWithBody("UserNotFound", "UserDisabled"),
        },
      },
    },
    async (request): Promise<PasswordReset> => {
      const user = await findUser(context, request);
      if (user.isDisabled) throw new EdgeError("UserDisabled");
      const { id: userId, accountId } = user;
      const purpose = toUserBody(user).state === "invited" ? "invitation" : "reset";
      const { code, hash, secret } = createCode(clock, purpose, { accountId, userId });
      const details = { expires_at: code.expiresAt };
      const audit = auditOf(request, clock, { action: "user.reset", subject: userSubjectOf(user), details });
      const issue = await store.users.issueCode(code, hash, audit);
      if (issue === "unknown") throw new EdgeError("UserNotFound");
      if (issue === "disabled") throw new EdgeError("UserDisabled");
      return {
        reset: { link: linkOf(accounts.site.urlOf(request), "invitation", secret), expires_at: code.expiresAt },
      };
    },
  );
}
