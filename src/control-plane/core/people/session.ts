import { isWithinLifetime } from "../lifetime.ts";

/** A session ends this long after it was used last, in seconds. */
export const SESSION_IDLE_S = 12 * 3600;
/** A session ends this long after it began, in seconds. */
export const MAX_SESSION_S = 7 * 24 * 3600;
/** Resolution of the time of last use. A write for every request would cost more than the request. */
const USE_RESOLUTION_S = 60;

/** How a user proved who they are. */
export type SignInMethod = "password" | "oidc" | "invitation" | "reset" | "setup";

/** A user who is signed in with one browser. The secret is not stored. Times are Unix seconds. */
export interface UserSession {
  readonly id: string;
  readonly userId: string;
  readonly createdAt: number;
  readonly lastUsedAt: number;
  /** Address the user signed in from; `undefined` if it is not known. */
  readonly source: string | undefined;
  readonly method: SignInMethod;
}

/** Returns when the session ends unless it is used before. */
export function sessionEnd({ createdAt, lastUsedAt }: Pick<UserSession, "createdAt" | "lastUsedAt">): number {
  return Math.min(createdAt + MAX_SESSION_S, lastUsedAt + SESSION_IDLE_S);
}

export function isSessionLive(session: Pick<UserSession, "createdAt" | "lastUsedAt">, now: number): boolean {
  return isWithinLifetime({ createdAt: session.createdAt, expiresAt: sessionEnd(session) }, now);
}

/** Whether a use of the session should be stored. */
export function isUseDue({ lastUsedAt }: Pick<UserSession, "lastUsedAt">, now: number): boolean {
  return now - lastUsedAt >= USE_RESOLUTION_S;
}
