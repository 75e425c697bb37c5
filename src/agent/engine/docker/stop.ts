import type { Container } from "dockerode";
import { hasStatus } from "./unless-status.ts";

/** Stops a container; one that does not run, or has gone meanwhile, is no error. @param graceMs milliseconds, told to the engine in whole seconds */
export async function stop(container: Container, graceMs: number, abortSignal: AbortSignal): Promise<void> {
  try {
    await container.stop({ t: Math.ceil(graceMs / 1000), abortSignal });
  } catch (error) {
    // 304: it does not run.
    if (!hasStatus(error, 304) && !hasStatus(error, 404)) throw error;
  }
}
