import type Docker from "dockerode";
import type { RunEnd } from "../../core/app/container-status.ts";
import type { EngineInfo } from "../engine.ts";
import { toState } from "./container-mapping.ts";
import { findContainer } from "./find-container.ts";
import { getStream } from "./get.ts";
import { readJsonLines } from "./json-lines.ts";
import { actionOf } from "./watch-containers.ts";

/** Exit code of an app that was killed (128 + SIGKILL), as the kernel does when memory runs out. */
const KILLED = 137;
/** How long before the recorded end of a run its events are looked for, in seconds. */
const EVENTS_BEFORE_S = 1;
/** Bound of the events that are read: the end of the run is among the first. */
const MAX_EVENTS = 1_000;

interface Query {
  readonly kind: EngineInfo["kind"];
  /** Time of day. */
  readonly nowMs: number;
}

/**
 * Returns how the container's last run that is over ended. Of a container that runs, engines report the exit code 0, but
 * their history of events has the end of the run before: the last 256 events of all containers in Docker's memory, the
 * event log of Podman.
 */
export async function readLastExit(
  docker: Docker,
  id: string,
  query: Query,
  abortSignal: AbortSignal,
): Promise<RunEnd | undefined> {
  const info = await findContainer(docker, id, abortSignal);
  if (!info) return undefined;
  const { status, exitCode, oomKilled, finishedAt } = toState(info);
  if (status === "exited" || status === "restarting" || status === "dead") return { exitCode, oomKilled };
  const ended = Date.parse(finishedAt);
  // Year 1: no run has ended.
  if (Number.isNaN(ended) || ended <= 0) return undefined;
  const events = await eventsSince(docker, info.Id, { ended: ended / 1000, ...query }, abortSignal);
  const code = events.findLast(({ action }) => action === "die")?.exitCode;
  if (code === undefined) return undefined;
  const isOutOfMemory = events.some(({ action }) => action === "oom") || (code === KILLED && oomKilled);
  return { exitCode: code, oomKilled: isOutOfMemory };
}

interface LifeEvent {
  readonly action: string;
  readonly exitCode: number | undefined;
}

/** Returns the container's events since the end of a run, oldest first; an empty list if the engine does not keep them. */
async function eventsSince(
  docker: Docker,
  id: string,
  { ended, kind, nowMs }: Query & { readonly ended: number },
  abortSignal: AbortSignal,
): Promise<readonly LifeEvent[]> {
  const query = {
    since: Math.floor(ended) - EVENTS_BEFORE_S,
    // Without it, each would wait for further events. Podman leaves out the latest where a time is given.
    ...(kind === "docker" ? { until: (nowMs / 1000).toFixed(3) } : { stream: false }),
    filters: JSON.stringify({ type: ["container"], container: [id] }),
  };
  const events: LifeEvent[] = [];
  const stream = await getStream(docker, "/events", query, abortSignal).catch(ignoreRefusal);
  if (!stream) return events;
  for await (const message of readJsonLines(stream as AsyncIterable<Buffer>)) {
    events.push({ action: actionOf(message), exitCode: exitCodeOf(message) });
    if (events.length >= MAX_EVENTS) break;
  }
  return events;
}

/** An engine that keeps no events refuses the query. */
function ignoreRefusal(error: unknown): undefined {
  if (error instanceof Error && "statusCode" in error) return undefined;
  throw error;
}

function exitCodeOf(message: Readonly<Record<string, unknown>>): number | undefined {
  const { Attributes: attributes } = (message["Actor"] ?? {}) as {
    readonly Attributes?: Readonly<Record<string, string>> | null;
  };
  // Some versions of Podman use a name of their own.
  const code = Number(attributes?.["exitCode"] ?? attributes?.["containerExitCode"]);
  return Number.isInteger(code) ? code : undefined;
}
