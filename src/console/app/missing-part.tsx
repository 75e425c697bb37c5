import { type ReactNode, useEffect, useState } from "react";
import { noteResponse, noteUnreachable } from "../live/reachability.ts";
import { Note } from "../parts/note.tsx";

const PROBE_INTERVAL_MS = 1000;
const RELOADED_AT = "reloaded-at";
const MIN_RELOAD_INTERVAL_MS = 30_000;

/** A part of the console that could not be loaded: the service is away, or was updated and has other parts now. */
export class MissingPart extends Error {}

/** Loads a part of the console. Throws `MissingPart`. */
export async function loadPart<Part>(load: () => Promise<Part>): Promise<Part> {
  try {
    return await load();
  } catch (error) {
    throw new MissingPart("A part of the console could not be loaded.", { cause: error });
  }
}

/** Shown in place of the page: loads everything anew as soon as the service answers, but not again and again. */
export function MissingPartNote(): ReactNode {
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
