import type { Container } from "dockerode";
import type { Clock } from "../../../lib/clock.ts";
import { EngineError } from "../engine-error.ts";
import { toEngineError } from "./to-engine-error.ts";
import { hasStatus, unlessStatus } from "./unless-status.ts";

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
/** Below the timeout of the call: an engine that goes on removing a container does answer. */
const MAX_WAIT_MS = 30_000;

/**
 * Removes a container, running or not, with its anonymous volumes. Waits for a removal in progress. Error `not_removable`
 * if it stays.
 */
export async function removeUntilGone(container: Container, clock: Clock, abortSignal: AbortSignal): Promise<void> {
  const until = clock.monotonic() + MAX_WAIT_MS;
  for (;;) {
    try {
      await container.remove({ force: true, v: true, abortSignal });
      return;
    } catch (error) {
      if (hasStatus(error, 404)) return;
      const isInProgress = hasStatus(error, 409) || isBetweenStates(error);
      if (!isInProgress || clock.monotonic() >= until) return await throwUnlessGone(container, error, abortSignal);
    }
    await clock.sleep(RETRY_MS, abortSignal);
  }
}

/** Podman forgets a container also when it cannot remove all of it. */
async function throwUnlessGone(container: Container, error: unknown, abortSignal: AbortSignal): Promise<void> {
  const reason = toEngineError(error);
  if (reason.kind === "unavailable" || abortSignal.aborted) throw reason;
  if (!(await unlessStatus(404, container.inspect({ abortSignal })))) return;
  throw new EngineError("not_removable", reason.message, { cause: error });
}

/** Podman's error for a container that is being restarted or stopped. */
function isBetweenStates(error: unknown): boolean {
  return hasStatus(error, 500) && String(error).includes("container state improper");
}
