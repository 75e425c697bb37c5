import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect } from "react";
import { Navigate, useLocation } from "react-router";
import { toFailure } from "../api/failure.ts";
import { KEYS } from "../api/keys.ts";
import type { Session } from "../api/types.ts";
import { SessionContext, useSessionQuery } from "../api/session.ts";
import { identityOf, onSessionChanged } from "../api/session-change.ts";
import { followAccount, type Position } from "../live/account-stream.ts";
import { eventHandler } from "../live/events.ts";
import { whileVisible } from "../live/while-visible.ts";
import { FailureNote } from "../parts/failure-note.tsx";
import { Loading } from "../parts/loading.tsx";
import { StaleBanner } from "../parts/stale-banner.tsx";
import { Shell } from "./shell.tsx";

/** Frame of the pages that need a session: looks who is signed in, and follows the account's events. */
export function SessionFrame(): ReactNode {
  const { data, error, refetch } = useSessionQuery();
  const { pathname, search } = useLocation();
  const failure = error && toFailure(error);
  useOtherTabs();
  useAccountEvents(data && failure?.status !== 401 ? identityOf(data) : undefined);
  if (failure?.status === 401) {
    const next = pathname === "/" ? "" : `?next=${encodeURIComponent(pathname + search)}`;
    return <Navigate to={`/sign-in${next}`} replace />;
  }
  if (data)
    return (
      // Another person begins anew: an open dialog must not be carried out in the other account.
      <SessionContext key={identityOf(data)} value={data}>
        <Shell />
      </SessionContext>
    );
  return (
    <main>
      <StaleBanner />
      {failure ? <FailureNote failure={failure} onRetry={() => void refetch()} /> : <Loading />}
    </main>
  );
}

/** What another tab has signed in or out is not shown, nor carried on with, until it is known who is signed in. */
function useOtherTabs(): void {
  const client = useQueryClient();
  useEffect(
    () =>
      onSessionChanged(() => {
        client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== KEYS.session[0] });
        client.getMutationCache().clear();
        void client.resetQueries({ queryKey: KEYS.session });
      }),
    [client],
  );
}

/** Follows the events as one person: another's stream does not go on where this one's was. */
function useAccountEvents(identity: string | undefined): void {
  const client = useQueryClient();
  useEffect(() => {
    if (identity === undefined) return undefined;
    const handlers = {
      onEvent: eventHandler(client),
      onReset: () => void client.invalidateQueries(),
      onSignedOut: () => void client.invalidateQueries({ queryKey: KEYS.session }),
      mayResume: async () => {
        // Without an answer the session is taken for what it was: the stream is refused if it is not.
        await client.refetchQueries({ queryKey: KEYS.session });
        const session = client.getQueryData<Session>(KEYS.session);
        return session === undefined || identityOf(session) === identity;
      },
    };
    const position: Position = {};
    return whileVisible((signal) => void followAccount(handlers, position, signal));
  }, [client, identity]);
}
