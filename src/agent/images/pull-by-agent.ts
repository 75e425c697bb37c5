import type { EventContent } from "../../protocol/deployments/deployment-event.ts";
import type { PresentImage, PullCost, ResolvedImage } from "../core/image/image.ts";
import { costGrewEvent, summaryEvent, wholeLayerEvent } from "../core/deployment/pull-events.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { findBudgetRefusal, projectedBytes } from "../core/image/pull-cost.ts";
import type { RegistryAuth } from "../registry/registry.ts";
import type { ImageRequest, ImageServices } from "./ports.ts";
import { PullReporter } from "./pull-reporter.ts";
import type { PullSlot } from "./pull-slot.ts";
import { costLimitsOf, countReceived } from "./request.ts";

export interface AgentPull {
  readonly image: ResolvedImage;
  readonly cost: PullCost;
  readonly auth: RegistryAuth | undefined;
}

export interface PulledByAgent {
  readonly image: PresentImage;
  /** They summarize the download. */
  readonly events: readonly EventContent[];
}

/** Downloads the image and has the engine load it. */
export async function pullByAgent(
  services: ImageServices,
  request: ImageRequest,
  { image, cost, auth }: AgentPull,
  slot: PullSlot,
): Promise<PulledByAgent> {
  const reporter = new PullReporter(services, request);
  const limits = costLimitsOf(services, request);
  const stopped = new AbortController();
  let announcedBytes = cost.downloadBytes;
  const { image: pulled, progress } = await services.downloader.download({
    image,
    auth,
    expectedBytes: cost.downloadBytes,
    byParts: {
      app: request.owner.app,
      layersPresent: cost.layersPresent,
      onWhole: (reason) => request.emit(wholeLayerEvent(reason)),
    },
    onProgress: (now) => {
      // May be more than computed: the engine does not know layers of an image loaded by hand by these digests.
      const refusal = findBudgetRefusal({ ...cost, downloadBytes: projectedBytes(now) }, limits);
      if (refusal) stopped.abort(new EdgeError(refusal.code, refusal.message, refusal.details));
      else if (now.total > announcedBytes) {
        request.emit(costGrewEvent(now.total, announcedBytes));
        announcedBytes = now.total;
      }
      reporter.progress(now);
    },
    onInterruption: (interruption) => reporter.interrupted(interruption),
    onReceived: (bytes) => {
      slot.renew();
      countReceived(services, request, bytes);
    },
    signal: AbortSignal.any([request.signal, stopped.signal]),
  });
  return { image: pulled, events: progress.received > 0 ? [summaryEvent(progress)] : [] };
}
