import type { Container } from "dockerode";
import { hasStatus } from "./unless-status.ts";
import type { Clock } from "../../../lib/clock.ts";

/** Stops a container; one that does not run, or has gone meanwhile, is no error. @param graceMs milliseconds, told to the engine in whole seconds */
export async function stop(container: Container, graceMs: number, abortSignal: AbortSignal): Promise<void> {
  try {
    await container.stop({ t: Math.ceil(graceMs / 1000), abortSignal });
  } catch (error) {
    // 304: it does not run.
    if (!hasStatus(error, 304) && !hasStatus(error, 404)) throw error;
  }
}

const RETRY_MS = 100;

/** Removes a container, running or not, with its anonymous volumes. Waits for a removal that is under way already. */
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

/** Podman's words for a container that it is starting again, or ending, at this very moment. */
function isBetweenStates(error: unknown): boolean {
  return hasStatus(error, 500) && String(error).includes("container state improper");
}
