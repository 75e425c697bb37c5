import { type ReactNode, useSyncExternalStore } from "react";
import { readReachability, subscribeReachability } from "../live/reachability.ts";
import { formatDuration } from "./durations.ts";
import { Note } from "./note.tsx";
import { useNow } from "./use-now.ts";

/** A restart of the service takes a moment, and an open page goes on after it. */
const MIN_SHOWN_AFTER_MS = 1000;

/** Says since when the service does not answer. What is on the page stays, and is as old as that. */
export function StaleBanner(): ReactNode {
  const { unreachableSince } = useSyncExternalStore(subscribeReachability, readReachability);
  return unreachableSince === undefined ? null : <Unreachable since={unreachableSince} />;
}

function Unreachable({ since }: { readonly since: number }): ReactNode {
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
