import { unixNow } from "../../../lib/clock.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import { type SessionBody, sessionSchema } from "../../../protocol/people/principal.ts";
import { invitationAcceptanceSchema } from "../../../protocol/people/users.ts";
import { codeState, type OneTimeCode } from "../../core/people/one-time-code.ts";
import { sourceOf } from "../../core/people/source.ts";
import { userSubject } from "../../accounts/access-watcher.ts";
import { requireStrongPassword } from "../../accounts/new-password.ts";
import { hashSecret } from "../../accounts/secrets.ts";
import type { Api, ApiContext } from "../context.ts";
import { json, publicErrorsWithBody } from "../docs/responses.ts";
import type { AuditFacts } from "../../accounts/audit-entry.ts";
import { auditOfUser, userSubjectOf } from "../audit/audit-of.ts";
import { findAccount, signIn } from "./session-resource.ts";

/** `POST /v1/invitations`: sets a password with the code of an invitation or of a reset. */
export function acceptInvitation(api: Api, context: ApiContext<"accounts">): void {
  const { store, clock, accounts } = context;
  api.post(
    "/v1/invitations",
    {
      schema: {
        operationId: "acceptInvitation",
        summary: "Accept Invitation",
        description:
          "Sets the password of a person who was invited, or whose password an admin has reset, and signs " +
          "the person in. The code of the link can be used once. Earlier sessions of the person end, and " +
          "keys of log-ins are revoked.",
        tags: ["People"],
        body: invitationAcceptanceSchema,
        response: {
          201: json("The person is signed in.", sessionSchema),
          ...publicErrorsWithBody(
            "InvitationUnknown",
            "InvitationExpired",
            "InvitationUsed",
            "WeakPassword",
            "CrossSiteRequest",
            "SignInFailed",
          ),
        },
      },
    },
    async (request, reply): Promise<SessionBody> => {
      const { code: secret, password, name } = request.body;
      const codeHash = hashSecret(secret);
      const now = unixNow(clock);
      const { userId, purpose } = requireInvitation(await store.users.findCode(codeHash), now);
      const user = userId === undefined ? undefined : await store.users.findUser(userId);
      if (!user || user.isDisabled) throw new EdgeError("InvitationUnknown");
      const account = await findAccount(store, user.accountId);
      requireStrongPassword(password, user.email, [name ?? user.name, account.name]);
      const passwordHash = await accounts.hasher.hash(password, { source: sourceOf(request.ip), goesFirst: false });
      const facts: AuditFacts = { action: "invitation.accepted", subject: userSubjectOf(user), details: { purpose } };
      const audit = auditOfUser(request, clock, user, facts);
      const accepted = await store.users.acceptCode({ codeHash, at: now, passwordHash, name, audit });
      // Used by another request, or replaced by a newer code, meanwhile.
      if (!accepted) throw new EdgeError("InvitationUsed");
      await accounts.access.recheck(userSubject(user.id));
      const method = purpose === "reset" ? "reset" : "invitation";
      const body = await signIn(context, request, reply, accepted, method);
      void reply.code(201);
      return body;
    },
  );
}

function requireInvitation(code: OneTimeCode | undefined, now: number): OneTimeCode {
  const state = codeState(code, ["invitation", "reset"], now);
  if (!code || state === "unknown") throw new EdgeError("InvitationUnknown");
  if (state === "used") throw new EdgeError("InvitationUsed");
  if (state === "expired") throw new EdgeError("InvitationExpired", undefined, { expired_at: code.expiresAt });
  return code;
}
