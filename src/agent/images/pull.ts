import type { EventContent } from "../../protocol/deployment-event.ts";
import { parseImageReference } from "../../protocol/image-reference.ts";
import { runningEvent } from "../core/deployment/step-events.ts";
import type { ImageSource } from "../core/image/image.ts";
import { DownloadError } from "../download/download-error.ts";
import { LoopbackUnreachable } from "../download/ports.ts";
import type { PullProgress } from "../engine/engine.ts";
import { EngineError } from "../engine/engine-error.ts";
import type { RegistryAuth } from "../registry/registry.ts";
import { digestsOf } from "./digests.ts";
import { handleFailedPull } from "./failed-pull.ts";
import type { ImageRequest, ImageServices, PullResult } from "./ports.ts";
import { pullByAgent } from "./pull-by-agent.ts";
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
  const { engine, gate } = services;
  const { reference, isUrgent = false, emit, signal } = request;
  const bytes = source.kind === "registry" ? source.cost.downloadBytes : 0;
  await gate.admit({ bytes, isUrgent, emit, signal });
  let events: readonly EventContent[];
  let hasReceived = false;
  const onReceived = (): void => {
    hasReceived = true;
  };
  try {
    events = await pullByAgentOrEngine(services, request, source, onReceived);
  } catch (error) {
    return await handleFailedPull(services, request, { source, attempt, hasReceived, error });
  }
  const image = await engine.inspectImage(reference, signal);
  if (!image) throw new EngineError("unknown", `the image ${reference} is not there after it was pulled`);
  return {
    kind: "pulled",
    imageId: image.id,
    digest: digestOfSource(source) ?? digestsOf(services, reference, image)[0],
    events,
  };
}

async function pullByAgentOrEngine(
  services: ImageServices,
  request: ImageRequest,
  source: ImageSource,
  /** Called when the engine has received a part of a layer. */
  onReceived: () => void,
): Promise<readonly EventContent[]> {
  const { clock, config, pullSlots } = services;
  if (pullSlots.isFull) request.emit(runningEvent("pulling", "Waiting for another download to finish."));
  using slot = await PullSlot.acquire(pullSlots, clock, request.signal);
  const auth = await registryAuthFor(services, request);
  if (source.kind === "registry" && config.pullBy === "agent") {
    const events = await undefinedIfUnable(request, pullByAgent(services, request, { ...source, auth }, slot));
    if (events) return events;
  }
  const report = progressReporter(services, request, slot);
  const onProgress: typeof report = (progress) => {
    if (progress.done > 0) onReceived();
    report(progress);
  };
  await pullByEngine(services, request, source, auth, onProgress);
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
  onProgress: (progress: PullProgress) => void,
): Promise<void> {
  const { engine } = services;
  const { reference, signal } = request;
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

/** The digest that was pulled; `undefined` where only the engine was told. */
function digestOfSource(source: ImageSource): string | undefined {
  return source.kind === "registry" ? (source.image.indexDigest ?? source.image.digest) : undefined;
}
