import type { Container } from "dockerode";
import { hasStatus } from "./unless-status.ts";
import type { Clock } from "../../../lib/clock.ts";

/** Stops a container; no error if it does not run or exist. @param graceMs milliseconds, rounded up to seconds */
export async function stop(container: Container, graceMs: number, abortSignal: AbortSignal): Promise<void> {
  try {
    await container.stop({ t: Math.ceil(graceMs / 1000), abortSignal });
  } catch (error) {
    // 304: not running.
    if (!hasStatus(error, 304) && !hasStatus(error, 404)) throw error;
  }
}

const RETRY_MS = 100;

/** Removes a container, running or not, with its anonymous volumes. Waits for a removal in progress. */
export async function removeUntilGone(container: Container, clock: Clock, abortSignal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await container.remove({ force: true, v: true, abortSignal });
      return;
    } catch (error) {
      if (hasStatus(error, 404)) return;
      if (!hasStatus(error, 409) && !isBetweenStates(error)) throw error;
    }
    await clock.sleep(RETRY_MS, abortSignal);
  }
}

/** Podman's error for a container that is being restarted or stopped. */
function isBetweenStates(error: unknown): boolean {
  return hasStatus(error, 500) && String(error).includes("container state improper");
}
