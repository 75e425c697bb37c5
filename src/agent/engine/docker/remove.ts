import type { Container } from "dockerode";
import type { Clock } from "../../../lib/clock.ts";
import { hasStatus } from "./unless-status.ts";

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
