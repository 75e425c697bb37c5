import type Docker from "dockerode";
import type { Clock } from "../../../lib/clock.ts";
import { getJson } from "./get.ts";
import { unlessStatus } from "./unless-status.ts";

/** Of Podman's own interface: the Docker-compatible one says `exited` for `stopped` too. */
interface PodmanContainer {
  readonly State?: { readonly Status?: string; readonly ExitCode?: number; readonly FinishedAt?: string };
  readonly RestartCount?: number;
  readonly HostConfig?: { readonly RestartPolicy?: { readonly Name?: string; readonly MaximumRetryCount?: number } };
}

/** After this time Podman has failed to start the next run, or to clean up after the last one: it does not try again. */
const MAX_BETWEEN_RUNS_MS = 30_000;

/**
 * Whether Podman is about to start a container again by its restart policy. It takes half a second for that, which is most
 * of the time of an app that ends at once, and its Docker-compatible interface calls such a container `exited`.
 */
export async function isBetweenRuns(
  docker: Docker,
  id: string,
  clock: Pick<Clock, "timeOfDay">,
  abortSignal: AbortSignal,
): Promise<boolean> {
  const { State: state = {}, HostConfig: config, RestartCount: count = 0 } = await inspect(docker, id, abortSignal);
  // It was down a moment ago.
  if (state.Status === "running") return true;
  if (state.Status !== "stopped" && state.Status !== "initialized") return false;
  const { Name: policy, MaximumRetryCount: most = 0 } = config?.RestartPolicy ?? {};
  const isRetried = !!state.ExitCode && (most === 0 || count < most);
  const restarts = policy === "always" || policy === "unless-stopped" || (policy === "on-failure" && isRetried);
  // Podman's clock is this machine's. A look may take seconds while Podman starts and cleans up.
  const sinceMs = clock.timeOfDay() - Date.parse(state.FinishedAt ?? "");
  return restarts && sinceMs >= 0 && sinceMs < MAX_BETWEEN_RUNS_MS;
}

const LOOK_INTERVAL_MS = 100;
const MAX_LOOKS = 100;
const DOWN: ReadonlySet<string | undefined> = new Set(["exited", "created", "configured", "removing", undefined]);

/**
 * Stops a container of Podman for good: Podman takes a container that is between two runs for stopped already, does
 * nothing, and starts the next one.
 */
export async function stopForGood(
  docker: Docker,
  id: string,
  stop: () => Promise<void>,
  clock: Clock,
  abortSignal: AbortSignal,
): Promise<void> {
  for (let looks = 0; looks < MAX_LOOKS; looks++) {
    await stop();
    const { State: state } = await inspect(docker, id, abortSignal);
    if (DOWN.has(state?.Status)) return;
    await clock.sleep(LOOK_INTERVAL_MS, abortSignal);
  }
}

async function inspect(docker: Docker, id: string, abortSignal: AbortSignal): Promise<PodmanContainer> {
  const path = `/v4.0.0/libpod/containers/${id}/json`;
  return (await unlessStatus(404, getJson<PodmanContainer>(docker, path, abortSignal))) ?? {};
}
