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
      if (!hasStatus(error, 409)) throw error;
    }
    await clock.sleep(RETRY_MS, abortSignal);
  }
}
