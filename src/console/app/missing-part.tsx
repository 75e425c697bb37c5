import { type ReactNode, useEffect, useState } from "react";
import { noteResponse, noteUnreachable } from "../live/reachability.ts";
import { Note } from "../parts/note.tsx";

const PROBE_INTERVAL_MS = 1000;
const RELOADED_AT = "reloaded-at";
const MIN_RELOAD_INTERVAL_MS = 30_000;

/**
 * Shown in place of what could not be loaded: the network changed, or the service is away, or was updated and has other files now.
 * Loads everything anew as soon as the service answers, but not again and again.
 */
export function MissingPart(): ReactNode {
  const [isGivenUp, setGivenUp] = useState(false);
  useEffect(() => {
    if (isGivenUp) return undefined;
    const timer = setInterval(() => void reloadIfReachable(() => setGivenUp(true)), PROBE_INTERVAL_MS);
    return () => clearInterval(timer);
  }, [isGivenUp]);
  return (
    <Note kind="warn" title="This page could not be loaded.">
      {isGivenUp
        ? "Loading everything anew did not help. Something between this browser and edge-control may keep files back."
        : "It is loaded as soon as edge-control answers."}
    </Note>
  );
}

async function reloadIfReachable(giveUp: () => void): Promise<void> {
  try {
    const response = await fetch("/healthz", { cache: "no-store" });
    noteResponse(response);
    if (!response.ok) return;
  } catch {
    noteUnreachable();
    return;
  }
  if (Date.now() - Number(sessionStorage.getItem(RELOADED_AT)) < MIN_RELOAD_INTERVAL_MS) return giveUp();
  sessionStorage.setItem(RELOADED_AT, String(Date.now()));
  location.reload();
}
