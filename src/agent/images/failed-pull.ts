import { fullJitter } from "../../lib/backoff.ts";
import { runningEvent } from "../core/deployment/step-events.ts";
import type { ImageSource } from "../core/image/image.ts";
import { afterFailedPull, isLookupErrorDecisive, mayUsePresent } from "../core/image/pull-decision.ts";
import { DownloadError } from "../download/download-error.ts";
import { EngineError } from "../engine/engine-error.ts";
import { RegistryError } from "../registry/registry-error.ts";
import type { ImageRequest, ImageServices, PullResult } from "./ports.ts";
import { useLocalImage } from "./request.ts";

const RETRY = { baseMs: 1_000, maxMs: 30_000 };

interface FailedPull {
  readonly source: ImageSource;
  /** 1 for the first. */
  readonly attempt: number;
  /** Whether the engine received any part of a layer. */
  readonly hasReceived: boolean;
  readonly error: unknown;
}

/**
 * Decides what follows from a failed pull, and waits for the pause before the next attempt. Rejects with the error if
 * there is nothing left to try; with the registry's answer to the agent, where that is the cause of the engine's error.
 */
export async function handleFailedPull(
  services: ImageServices,
  request: ImageRequest,
  { source, attempt, hasReceived, error }: FailedPull,
): Promise<PullResult> {
  const { clock, config, engine } = services;
  const { reference, emit, signal } = request;
  const isResolved = source.kind === "registry";
  const mayUseLocal = mayUsePresent(request.policy, isResolved);
  const findLocal = async () => (mayUseLocal ? await engine.inspectImage(reference, signal) : undefined);
  if (error instanceof DownloadError) {
    // The downloader has retried for as long as it may. Only an image on the device can help now.
    const localImage = error.kind === "no_progress" ? await findLocal() : undefined;
    if (!localImage) throw error;
    return useLocalImage(services, request, localImage, error, isResolved);
  }
  if (!(error instanceof EngineError)) throw error;
  const localImage = await findLocal();
  const decision = afterFailedPull(error.kind, attempt, config.pullAttempts, localImage !== undefined);
  const lookup = source.kind === "engine" ? source.error : undefined;
  const isDecisive = lookup !== undefined && isLookupErrorDecisive(lookup.kind, error.kind, hasReceived);
  const keepsLocal = decision === "use_local" || (isDecisive && request.policy === "changed");
  if (localImage && keepsLocal)
    return useLocalImage(services, request, localImage, isDecisive ? lookup : error, isResolved);
  if (lookup) {
    // Of two errors of one kind, the agent's message says more than the engine's.
    const isSame = decision === "give_up" && lookup.kind === error.kind;
    if (isDecisive || isSame) throw new RegistryError(lookup.kind, lookup.message, { hint: lookup.hint, cause: error });
  }
  if (decision !== "retry") throw error;
  const delay = fullJitter(attempt, RETRY, services.random());
  const nextAttempt = `attempt ${attempt + 1} of ${config.pullAttempts} in ${Math.ceil(delay / 1000)} s`;
  const what = error.kind === "wrong_content" ? "The registry sent wrong content" : "The registry cannot be reached";
  emit(runningEvent("pulling", `${what} (${error.message}); ${nextAttempt}.`));
  await clock.sleep(delay, signal);
  // If the agent could not resolve the image before, it may be able to now.
  return { kind: "retry", mustResolve: source.kind === "engine" };
}
