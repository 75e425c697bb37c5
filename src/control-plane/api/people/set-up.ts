import { EdgeError } from "../../../protocol/errors/errors.ts";
import { type SessionBody, sessionSchema } from "../../../protocol/people/principal.ts";
import { invalidRequest } from "../../../protocol/errors/request-error.ts";
import { setUpRequestSchema } from "../../../protocol/people/users.ts";
import { unixNow } from "../../../lib/clock.ts";
import { codeState, type OneTimeCode } from "../../core/people/one-time-code.ts";
import { sourceOf } from "../../core/people/source.ts";
import type { User } from "../../core/people/user.ts";
import { requireStrongPassword } from "../../accounts/new-password.ts";
import { createId, hashSecret } from "../../accounts/secrets.ts";
import type { Account } from "../../store/accounts.ts";
import type { Api, ApiContext } from "../context.ts";
import { json, publicErrorsWithBody } from "../docs/responses.ts";
import type { AuditFacts } from "../../accounts/audit-entry.ts";
import { auditOfUser, userSubjectOf } from "../audit/audit-of.ts";
import { findAccount, signIn } from "./session-resource.ts";
import { newUser, requireEmail } from "./user-resource.ts";

/** `POST /v1/setup`: makes the first admin, with a code that the service's operator has. */
export function setUp(api: Api, context: ApiContext<"accounts">): void {
  const { store, clock, accounts } = context;
  api.post(
    "/v1/setup",
    {
      schema: {
        operationId: "setUp",
        summary: "Set Up",
        description:
          "Makes the first account and its first admin, who is signed in then, or an admin of the account " +
          "that the code is for. The server prints the code when it starts and no person can sign in yet, " +
          "and with `edge-control setup-code`; it can be used once, within 24 hours.",
        tags: ["People"],
        body: setUpRequestSchema,
        response: {
          201: json("The admin is signed in.", sessionSchema),
          ...publicErrorsWithBody(
            "SetupCodeUnknown",
            "SetupCodeExpired",
            "SetupDone",
            "EmailTaken",
            "WeakPassword",
            "CrossSiteRequest",
            "SignInFailed",
          ),
        },
      },
    },
    async (request, reply): Promise<SessionBody> => {
      const { code: secret, account_name, email, name, password } = request.body;
      requireEmail(email);
      const codeHash = hashSecret(secret);
      const now = unixNow(clock);
      const code = requireSetUpCode(await store.users.findCode(codeHash), now);
      const account = await accountFor(code, account_name, now);
      requireStrongPassword(password, email, [...(name === undefined ? [] : [name]), account.name]);
      const passwordHash = await accounts.hasher.hash(password, { source: sourceOf(request.ip), goesFirst: false });
      const user: User = { ...newUser(clock, { accountId: account.id, email, name, role: "admin" }), passwordHash };
      const facts: AuditFacts = { action: "user.created", subject: userSubjectOf(user), details: { role: "admin" } };
      const audit = auditOfUser(request, clock, user, facts);
      const isNew = code.accountId === undefined;
      const result = await store.users.setUp({ codeHash, at: now, account: isNew ? account : undefined, user, audit });
      if (result === "users_exist") throw new EdgeError("SetupDone");
      if (result === "email_taken") throw new EdgeError("EmailTaken");
      // Used by another request meanwhile.
      if (result === "code_not_usable") throw new EdgeError("SetupDone");
      const body = await signIn(context, request, reply, user, "setup");
      void reply.code(201);
      return body;
    },
  );

  /** The account that the code is of, or the one to create. */
  async function accountFor(code: OneTimeCode, name: string | undefined, now: number): Promise<Account> {
    if (code.accountId !== undefined) return findAccount(store, code.accountId);
    if (await store.users.hasUsers()) throw new EdgeError("SetupDone");
    const [existing] = await store.accounts.listAccounts();
    if (existing) throw new EdgeError("SetupDone", `There is an account already. ${codeHint(existing.id)}`);
    if (name === undefined) throw invalidRequest([{ path: "account_name", reason: "is required" }]);
    return { id: createId("acc_"), name, createdAt: now };
  }
}

function codeHint(accountId: string): string {
  return `Create a code of it on the server: edge-control setup-code --account ${accountId}`;
}

function requireSetUpCode(code: OneTimeCode | undefined, now: number): OneTimeCode {
  const state = codeState(code, ["setup"], now);
  if (!code || state === "unknown") throw new EdgeError("SetupCodeUnknown");
  if (state === "used") throw new EdgeError("SetupDone");
  if (state === "expired") throw new EdgeError("SetupCodeExpired", undefined, { expired_at: code.expiresAt });
  return code;
}
