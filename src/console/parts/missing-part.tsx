import { type ComponentType, lazy, type LazyExoticComponent, type ReactNode, useEffect, useState } from "react";
import { noteResponse, noteUnreachable } from "../api/reachability.ts";
import { Note } from "./note.tsx";

const PROBE_INTERVAL_MS = 1000;
const RELOADED_AT = "reloaded-at";
const MIN_RELOAD_INTERVAL_MS = 30_000;

interface Props {
  /** Why it could not be loaded: names the file. */
  readonly error: unknown;
}

/**
 * Shown in place of what could not be loaded: the network changed, or the service is away, or was updated and has other files now.
 * Loads everything anew as soon as the service answers, but not again and again for the same file.
 */
export function MissingPart({ error }: Props): ReactNode {
  const reason = String(error);
  const [isGivenUp, setGivenUp] = useState(false);
  useEffect(() => {
    if (isGivenUp) return undefined;
    const timer = setInterval(() => void reloadIfReachable(reason, () => setGivenUp(true)), PROBE_INTERVAL_MS);
    return () => clearInterval(timer);
  }, [isGivenUp, reason]);
  return (
    <Note kind="warn" title="This page could not be loaded.">
      {isGivenUp
        ? "Loading everything anew did not help. Something between this browser and edge-control may keep files back."
        : "It is loaded as soon as edge-control answers."}
    </Note>
  );
}

async function reloadIfReachable(reason: string, giveUp: () => void): Promise<void> {
  try {
    const response = await fetch("/healthz", { cache: "no-store" });
    noteResponse(response);
    if (!response.ok) return;
  } catch {
    noteUnreachable();
    return;
  }
  // Each file that was missing has a time of its own: that another was says nothing of this one.
  const key = `${RELOADED_AT} ${reason}`;
  if (Date.now() - Number(sessionStorage.getItem(key)) < MIN_RELOAD_INTERVAL_MS) return giveUp();
  sessionStorage.setItem(key, String(Date.now()));
  location.reload();
}

/** A part of a page whose module is loaded when it is shown first. What fails to load says so, and the rest of the page stays. */
export function lazyPart<Props>(load: () => Promise<ComponentType<Props>>): LazyExoticComponent<ComponentType<Props>> {
  const loadOrSay = (): Promise<ComponentType<Props>> =>
    load().catch((error: unknown) => () => <MissingPart error={error} />);
  return lazy(async () => ({ default: await loadOrSay() }));
}
