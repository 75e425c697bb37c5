import type { EventContent } from "../../protocol/deployment-event.ts";
import { fullJitter } from "../../lib/backoff.ts";
import { parseImageReference } from "../../protocol/image-reference.ts";
import { runningEvent } from "../core/deployment/step-events.ts";
import type { ImageSource } from "../core/image/image.ts";
import { afterFailedPull } from "../core/image/pull-decision.ts";
import { DownloadError } from "../download/download-error.ts";
import { LoopbackUnreachable } from "../download/ports.ts";
import { EngineError } from "../engine/engine-error.ts";
import type { RegistryAuth } from "../registry/registry.ts";
import type { ImageRequest, ImageServices, PullResult } from "./ports.ts";
import { pullByAgent } from "./pull-by-agent.ts";
import { progressReporter } from "./pull-progress.ts";
import { PullSlot } from "./pull-slot.ts";
import { registryAuthFor, useLocalImage } from "./request.ts";

const RETRY = { baseMs: 1_000, maxMs: 30_000 };

/**
 * Implements `ImageProvider.pull`. Safe to repeat: a pull of an image that is on the device requests its manifest and
 * downloads no layer.
 */
export async function pullImage(
  services: ImageServices,
  request: ImageRequest,
  source: ImageSource,
  attempt: number,
): Promise<PullResult> {
  const { engine, gate } = services;
  const { reference, isUrgent = false, emit, signal } = request;
  const bytes = source.kind === "registry" ? source.cost.downloadBytes : 0;
  await gate.admit({ bytes, isUrgent, emit, signal });
  let events: readonly EventContent[];
  try {
    events = await pullByAgentOrEngine(services, request, source);
  } catch (error) {
    return await handleFailure(services, request, source, attempt, error);
  }
  const image = await engine.inspectImage(reference, signal);
  if (!image) throw new EngineError("unknown", `the image ${reference} is not there after it was pulled`);
  return { kind: "pulled", imageId: image.id, events };
}

async function pullByAgentOrEngine(
  services: ImageServices,
  request: ImageRequest,
  source: ImageSource,
): Promise<readonly EventContent[]> {
  const { clock, config, pullSlots } = services;
  if (pullSlots.isFull) request.emit(runningEvent("pulling", "Waiting for another download to finish."));
  using slot = await PullSlot.acquire(pullSlots, clock, request.signal);
  const auth = await registryAuthFor(services, request);
  if (source.kind === "registry" && config.pullBy === "agent") {
    const events = await undefinedIfUnable(request, pullByAgent(services, request, { ...source, auth }, slot));
    if (events) return events;
  }
  await pullByEngine(services, request, source, auth, slot);
  return [];
}

/**
 * Awaits a pull by the agent. Resolves to `undefined` if the agent cannot download on this device: it cannot write its
 * files, or the engine cannot reach the loopback registry. The engine has to pull then.
 */
async function undefinedIfUnable<T>({ emit }: ImageRequest, pulled: Promise<T>): Promise<T | undefined> {
  try {
    return await pulled;
  } catch (error) {
    const isUnable = error instanceof DownloadError && error.kind === "disk_failed";
    if (!isUnable && !(error instanceof LoopbackUnreachable)) throw error;
    emit(
      runningEvent(
        "pulling",
        `The agent cannot download for the container engine (${error.message}); the engine downloads the image itself.`,
      ),
    );
    return undefined;
  }
}

async function pullByEngine(
  services: ImageServices,
  request: ImageRequest,
  source: ImageSource,
  auth: RegistryAuth | undefined,
  slot: PullSlot,
): Promise<void> {
  const { engine } = services;
  const { reference, signal } = request;
  const onProgress = progressReporter(services, request, slot);
  if (source.kind === "engine" || parseImageReference(reference)?.digest !== undefined) {
    await engine.pullImage(reference, onProgress, signal, { auth });
    return;
  }
  // By digest: the tag may have moved to an image of another cost.
  const { registry, repository, digest, indexDigest } = source.image;
  const exact = `${registry}/${repository}@${indexDigest ?? digest}`;
  await engine.pullImage(exact, onProgress, signal, { auth });
  const image = await engine.inspectImage(exact, signal);
  if (image) await engine.tagImage(image.id, reference, signal);
}

async function handleFailure(
  services: ImageServices,
  request: ImageRequest,
  source: ImageSource,
  attempt: number,
  error: unknown,
): Promise<PullResult> {
  const { clock, config, engine } = services;
  const { reference, emit, signal } = request;
  if (error instanceof DownloadError) {
    // The downloader has retried for as long as it may. Only an image on the device can help now.
    const localImage = error.kind === "no_progress" ? await engine.inspectImage(reference, signal) : undefined;
    if (!localImage) throw error;
    return useLocalImage(localImage.id);
  }
  if (!(error instanceof EngineError)) throw error;
  const localImage = await engine.inspectImage(reference, signal);
  const decision = afterFailedPull(error.kind, attempt, config.pullAttempts, localImage !== undefined);
  if (decision === "use_local" && localImage) return useLocalImage(localImage.id);
  if (decision === "retry") {
    const delay = fullJitter(attempt, RETRY, services.random());
    const nextAttempt = `attempt ${attempt + 1} of ${config.pullAttempts} in ${Math.ceil(delay / 1000)} s`;
    emit(runningEvent("pulling", `The registry cannot be reached (${error.message}); ${nextAttempt}.`));
    await clock.sleep(delay, signal);
    // If the agent could not resolve the image before, it may be able to now.
    return { kind: "retry", mustResolve: source.kind === "engine" };
  }
  // The error of the agent's own request to the registry says more than the engine's message.
  if (source.kind === "engine" && source.error.kind === error.kind) {
    throw new EngineError(error.kind, source.error.message, { cause: error });
  }
  throw error;
}
