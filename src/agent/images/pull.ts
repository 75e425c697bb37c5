import { parseImageReference } from "../../protocol/apps/image-reference.ts";
import { runningEvent } from "../core/deployment/step-events.ts";
import type { ImageSource, PresentImage } from "../core/image/image.ts";
import { DownloadError } from "../download/download-error.ts";
import { LoopbackUnreachable } from "../download/ports.ts";
import type { PullProgress } from "../engine/engine.ts";
import type { RegistryAuth } from "../registry/registry.ts";
import { digestsOf } from "./digests.ts";
import { handleFailedPull } from "./failed-pull.ts";
import type { ImageRequest, ImageServices, PullResult } from "./ports.ts";
import { type PulledByAgent, pullByAgent } from "./pull-by-agent.ts";
import { progressReporter } from "./pull-progress.ts";
import { PullSlot } from "./pull-slot.ts";
import { registryAuthFor } from "./request.ts";

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
  const { gate } = services;
  const { reference, isUrgent = false, emit, signal } = request;
  const bytes = source.kind === "registry" ? source.cost.downloadBytes : 0;
  await gate.admit({ bytes, isUrgent, emit, signal });
  let pulled: PulledByAgent;
  let hasReceived = false;
  const onReceived = (): void => {
    hasReceived = true;
  };
  try {
    pulled = await pullByAgentOrEngine(services, request, source, onReceived);
  } catch (error) {
    return await handleFailedPull(services, request, { source, attempt, hasReceived, error });
  }
  const { image, events } = pulled;
  const digest = digestOfSource(source) ?? digestsOf(services, reference, image)[0];
  return { kind: "pulled", imageId: image.id, digest, events };
}

async function pullByAgentOrEngine(
  services: ImageServices,
  request: ImageRequest,
  source: ImageSource,
  /** Called when the engine has received a part of a layer. */
  onReceived: () => void,
): Promise<PulledByAgent> {
  const { clock, config, pullSlots } = services;
  if (pullSlots.isFull) request.emit(runningEvent("pulling", "Waiting for another download to finish."));
  using slot = await PullSlot.acquire(pullSlots, clock, request.signal);
  const auth = await registryAuthFor(services, request);
  if (source.kind === "registry" && config.pullBy === "agent") {
    const pulled = await undefinedIfUnable(request, pullByAgent(services, request, { ...source, auth }, slot));
    if (pulled) return pulled;
  }
  const report = progressReporter(services, request, slot);
  const onProgress: typeof report = (progress) => {
    if (progress.done > 0) onReceived();
    report(progress);
  };
  return { image: await pullByEngine(services, request, source, auth, onProgress), events: [] };
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
  onProgress: (progress: PullProgress) => void,
): Promise<PresentImage> {
  const { engine } = services;
  const { reference, signal } = request;
  if (source.kind === "engine" || parseImageReference(reference)?.digest !== undefined) {
    return await engine.pullImage(reference, onProgress, signal, { auth });
  }
  // By digest: the tag may have moved to an image of another cost.
  const { registry, repository, digest, indexDigest } = source.image;
  const exact = `${registry}/${repository}@${indexDigest ?? digest}`;
  const image = await engine.pullImage(exact, onProgress, signal, { auth });
  await engine.tagImage(image.id, reference, signal);
  return image;
}

/** The digest that was pulled; `undefined` where only the engine was told. */
function digestOfSource(source: ImageSource): string | undefined {
  return source.kind === "registry" ? (source.image.indexDigest ?? source.image.digest) : undefined;
}
