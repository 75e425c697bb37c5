import { send } from "../../api/client.ts";
import { type ApiFailure, toFailure } from "../../api/failure.ts";
import type { DeploymentEvent } from "../../../protocol/api-types.ts";
import { readMessages } from "../../live/line-stream.ts";
import { addEvent, NO_PROGRESS, type Progress } from "./progress.ts";

const MIN_PAUSE_MS = 300;
const MAX_PAUSE_MS = 5000;

export interface FollowListener {
  readonly onProgress: (progress: Progress) => void;
  /** Why the stream is cut, or `undefined` when it is open again. The deployment goes on either way. */
  readonly onLink: (failure: ApiFailure | undefined) => void;
  /** The stream is refused, such as for a deployment that does not exist. */
  readonly onRefused: (failure: ApiFailure) => void;
}

/** Follows a deployment to its last event, from its first one. Takes the stream up again where it was cut. */
export async function followDeployment(
  assetId: string,
  deploymentId: string,
  listener: FollowListener,
  signal: AbortSignal,
): Promise<void> {
  let progress = NO_PROGRESS;
  let pauseMs = MIN_PAUSE_MS;
  while (!signal.aborted && !progress.final) {
    try {
      const response = await send("GET /v1/assets/{asset_id}/edge/deployments/{deployment_id}/events", {
        path: { asset_id: assetId, deployment_id: deploymentId },
        query: { after: String(progress.lastSeq) },
        signal,
      });
      listener.onLink(undefined);
      if (response.body) {
        for await (const event of readMessages(response.body)) {
          pauseMs = MIN_PAUSE_MS;
          progress = addEvent(progress, event as DeploymentEvent);
          listener.onProgress(progress);
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      const failure = toFailure(error);
      // Anything else than the service or the link being away does not pass by itself.
      if (failure.status >= 400 && failure.status < 500 && failure.status !== 429) return listener.onRefused(failure);
      listener.onLink(failure);
    }
    if (progress.final) return;
    await pause(pauseMs * (0.5 + Math.random()), signal);
    pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS);
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  signal.addEventListener("abort", () => resolve(), { once: true });
  await promise;
  clearTimeout(timer);
}
