import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useSyncExternalStore } from "react";
import { noteResponse, readReachability, subscribeReachability } from "../api/reachability.ts";
import { formatDuration } from "./durations.ts";
import { Note } from "./note.tsx";
import { useNow } from "./age.tsx";

/** A restart of the service takes a moment, and an open page goes on after it. */
const MIN_SHOWN_AFTER_MS = 1000;
const PROBE_INTERVAL_MS = 2000;

/** Says since when the service does not answer. What is on the page stays, and is as old as that. */
export function StaleBanner(): ReactNode {
  const { unreachableSince } = useSyncExternalStore(subscribeReachability, readReachability);
  return unreachableSince === undefined ? null : <Unreachable since={unreachableSince} />;
}

function Unreachable({ since }: { readonly since: number }): ReactNode {
  useReturn();
  const ms = useNow() - since;
  if (ms < MIN_SHOWN_AFTER_MS) return null;
  return (
    <div style={{ marginBottom: "1rem" }}>
      <Note kind="warn" title={`edge-control has not answered for ${formatDuration(ms / 1000)}.`}>
        What you see was true before that. The page goes on by itself as soon as the service answers.
      </Note>
    </div>
  );
}

/** Asks again and again whether the service answers; once it does, what failed meanwhile is fetched again. */
function useReturn(): void {
  const client = useQueryClient();
  useEffect(() => {
    const probe = async (): Promise<void> => {
      const response = await fetch("/healthz", { cache: "no-store" });
      if (response.ok) noteResponse(response);
    };
    // Still unreachable: the banner stays.
    const timer = setInterval(() => void probe().catch(() => undefined), PROBE_INTERVAL_MS);
    return () => {
      clearInterval(timer);
      void client.refetchQueries({ type: "active", predicate: ({ state }) => state.error !== null });
    };
  }, [client]);
}
