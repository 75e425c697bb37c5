import type { QueryClient } from "@tanstack/react-query";
import { KEYS } from "./keys.ts";
import type { Session } from "../../protocol/api-types.ts";

/** Other tabs of the browser share the cookie, and so the session: each says when it has begun or ended one. */
const channel = new BroadcastChannel("session");

/** Who is signed in, and in which account. */
export function identityOf({ account, principal }: Pick<Session, "account" | "principal">): string {
  return `${account.id}/${principal.id}`;
}

/** Forgets what was fetched for another person than this session's, before the session is shown. */
export function forgetOthers(client: QueryClient, session: Session): void {
  const last = client.getQueryData<Session>(KEYS.session);
  if (!last || identityOf(last) === identityOf(session)) return;
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== KEYS.session[0] });
  client.getMutationCache().clear();
}

/** Tells the other tabs that a session has begun or ended in this one. */
export function tellSessionChanged(): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a BroadcastChannel has no target: it stays in its origin
  channel.postMessage("changed");
}

/** Calls back when another tab has begun or ended a session. Returns a function that stops it. */
export function onSessionChanged(callback: () => void): () => void {
  channel.addEventListener("message", callback);
  return () => channel.removeEventListener("message", callback);
}
