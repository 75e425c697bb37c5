import { z } from "zod";
import { userSubject } from "../../accounts/access-watcher.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import { type SessionBody, sessionSchema } from "../../../protocol/people/principal.ts";
import { passwordChangeSchema } from "../../../protocol/people/users.ts";
import { requireStrongPassword } from "../../accounts/new-password.ts";
import { sourceOf } from "../../core/people/source.ts";
import { principalOf } from "../auth.ts";
import type { Api, ApiBase, ApiContext } from "../context.ts";
import { errors, errorsWithBody, json } from "../docs/responses.ts";
import { auditOf, userSubjectOf } from "../audit/audit-of.ts";
import { findAccount, readSession, signIn, userOf } from "./session-resource.ts";

/** `GET /v1/session`: who the request acts as. */
export function getSession(api: Api, { store }: ApiBase): void {
  api.get(
    "/v1/session",
    {
      schema: {
        operationId: "getSession",
        summary: "Get Session",
        description:
          "Who the request acts as: a person who is signed in, or an API key. What it may do, and until when.",
        tags: ["People"],
        response: { 200: json("The principal of the request.", sessionSchema), ...errors() },
      },
    },
    (request): Promise<SessionBody> => readSession(store, principalOf(request)),
  );
}

/** `DELETE /v1/session`: signs the person out. */
export function deleteSession(api: Api, { store, clock, accounts }: ApiContext<"accounts">): void {
  api.delete(
    "/v1/session",
    {
      schema: {
        operationId: "deleteSession",
        summary: "Sign Out",
        description: "Ends the session and its open streams.",
        tags: ["People"],
        response: { 204: z.undefined().meta({ description: "The session has ended." }), ...errorsWithBody() },
      },
    },
    async (request, reply) => {
      const { sessionHash, user } = userOf(request);
      const audit = auditOf(request, clock, { action: "session.closed", subject: userSubjectOf(user) });
      await store.userSessions.closeSession(sessionHash, audit);
      accounts.site.clearSessionCookie(request, reply);
      await accounts.access.recheck(userSubject(user.id));
      return reply.code(204).send();
    },
  );
}

/** `PUT /v1/session/password`: changes the password of the person. */
export function changePassword(api: Api, context: ApiContext<"accounts">): void {
  const { store, clock, accounts } = context;
  api.put(
    "/v1/session/password",
    {
      schema: {
        operationId: "changePassword",
        summary: "Change Password",
        description:
          "Sets another password. All sessions of the person end, and keys of log-ins are revoked; the " +
          "response sets the cookie of a new session for this browser.",
        tags: ["People"],
        body: passwordChangeSchema,
        response: {
          204: z.undefined().meta({ description: "The password was changed." }),
          ...errorsWithBody("WrongPassword", "WeakPassword"),
        },
      },
    },
    async (request, reply) => {
      const { current_password, password } = request.body;
      const { user, sessionHash } = userOf(request);
      const account = await findAccount(store, user.accountId);
      requireStrongPassword(password, user.email, [user.name, account.name]);
      const checked = await accounts.signIns.confirm(user, current_password, request.ip);
      if (!checked) throw new EdgeError("WrongPassword");
      const passwordHash = await accounts.hasher.hash(password, { source: sourceOf(request.ip), goesFirst: true });
      const audit = auditOf(request, clock, { action: "password.changed", subject: userSubjectOf(user) });
      // The password may have been reset, and this session been ended by that, while the new one was hashed.
      const proof = { sessionHash, passwordHash: checked.passwordHash };
      const result = await store.users.changeUser(user.accountId, user.id, { passwordHash }, audit, { proof });
      if (result !== "changed") throw new EdgeError("Unauthorized");
      await accounts.access.recheck(userSubject(user.id));
      await signIn(context, request, reply, { ...checked, passwordHash }, "password");
      return reply.code(204).send();
    },
  );
}
