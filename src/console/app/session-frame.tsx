import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect } from "react";
import { Navigate, useLocation } from "react-router";
import { toFailure } from "../api/failure.ts";
import { KEYS } from "../api/keys.ts";
import { SessionContext, useSessionQuery } from "../api/session.ts";
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
  useAccountEvents(data !== undefined && failure?.status !== 401);
  if (failure?.status === 401) {
    const next = pathname === "/" ? "" : `?next=${encodeURIComponent(pathname + search)}`;
    return <Navigate to={`/sign-in${next}`} replace />;
  }
  if (data)
    return (
      <SessionContext value={data}>
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

function useAccountEvents(isSignedIn: boolean): void {
  const client = useQueryClient();
  useEffect(() => {
    if (!isSignedIn) return undefined;
    const handlers = {
      onEvent: eventHandler(client),
      onReset: () => void client.invalidateQueries(),
      onSignedOut: () => void client.invalidateQueries({ queryKey: KEYS.session }),
    };
    const position: Position = {};
    return whileVisible((signal) => void followAccount(handlers, position, signal));
  }, [client, isSignedIn]);
}
