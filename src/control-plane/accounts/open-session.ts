import { type Clock, unixNow } from "../../lib/clock.ts";
import type { SignInMethod } from "../core/people/session.ts";
import type { User } from "../core/people/user.ts";
import { createId, createSecret, hashSecret } from "./secrets.ts";
import type { AuditEntry } from "../store/audit.ts";
import type { Store } from "../store/store.ts";

export interface SignIn {
  /** As it was when it proved who it is. */
  readonly user: User;
  readonly method: SignInMethod;
  /** Network address of the client. */
  readonly source: string;
  /** The secret of the session that the browser had before, which ends. */
  readonly replaces: string | undefined;
  readonly audit: AuditEntry;
}

/**
 * Opens a session. Its secret is always a new one, so that an attacker cannot plant one in a browser before. Returns the secret;
 * `undefined` if the user was changed meanwhile and must prove again who it is.
 */
export async function openSession(
  { store, clock }: { readonly store: Pick<Store, "userSessions">; readonly clock: Clock },
  { user, method, source, replaces, audit }: SignIn,
): Promise<string | undefined> {
  const secret = createSecret("es_");
  const now = unixNow(clock);
  const isOpen = await store.userSessions.openSession({
    session: { id: createId("ses_"), userId: user.id, createdAt: now, lastUsedAt: now, source, method },
    hash: hashSecret(secret),
    user,
    replaces: replaces === undefined ? undefined : hashSecret(replaces),
    audit,
  });
  return isOpen ? secret : undefined;
}
