import { fullJitter } from "../../lib/backoff.ts";
import { runningEvent } from "../core/deployment/step-events.ts";
import type { ResolvedImage } from "../core/image/image.ts";
import { requiresKnownCost, costDetails, computePullCost, costText, findCostRefusal } from "../core/image/pull-cost.ts";
import { decideLookupRetry } from "../core/image/pull-decision.ts";
import { pullHint } from "../core/image/pull-hint.ts";
import type { ImageFacts } from "../engine/engine.ts";
import { pinToDigest } from "../registry/address.ts";
import { RegistryError } from "../registry/registry-error.ts";
import type { RegistryAuth } from "../registry/registry.ts";
import type { ImageRequest, ImageServices, ResolveResult } from "./ports.ts";
import { costLimitsOf, countReceived, registryAuthFor, useLocalImage } from "./request.ts";

const RETRY = { baseMs: 1_000, maxMs: 30_000 };
/** Upper limit for a registry's Retry-After, in milliseconds. */
const MAX_RETRY_AFTER_MS = 300_000;
const MIN_REPORTED_DELAY_MS = 5_000;

/** See `ImageProvider.resolve`. */
export async function resolveImage(services: ImageServices, request: ImageRequest): Promise<ResolveResult> {
  const { config, engine, host } = services;
  const { reference, signal } = request;
  const present = await engine.inspectImage(reference, signal);
  const result = await lookUp(services, request, present);
  if (result.kind !== "image") return result;
  const { image } = result;
  if (present && isSame(present, image)) {
    const note = `Image ${reference} is already on the device, and is the newest.`;
    return { kind: "use_local", imageId: present.id, events: [runningEvent("pulling", note)] };
  }
  const cost = computePullCost(image, await knownLayers(services, signal));
  const freeBytes = await host.freeBytes(await services.dataRoot(signal));
  const refusal = findCostRefusal(cost, {
    ...costLimitsOf(services, request),
    freeBytes,
    reserveBytes: config.diskReserveBytes,
  });
  if (refusal) return { kind: "refused", refusal };
  const costEvent = { ...runningEvent("pulling", costText(cost)), details: costDetails(cost) };
  return {
    kind: "found",
    source: { kind: "registry", image, cost },
    digest: image.indexDigest ?? image.digest,
    // A dry run reports its cost in the final event.
    events: request.isDryRun ? [] : [costEvent],
  };
}

type LookupResult = { readonly kind: "image"; readonly image: ResolvedImage } | ResolveResult;

/** Asks the registry, and again after a pause, until it answers or the attempts are used up. */
async function lookUp(
  services: ImageServices,
  request: ImageRequest,
  present: ImageFacts | undefined,
): Promise<LookupResult> {
  const { clock, config, registry } = services;
  const { reference, isDryRun = false, signal } = request;
  const attempts = config.pullAttempts;
  const requiresCost = isDryRun || requiresKnownCost(costLimitsOf(services, request));
  const fallback = isDryRun ? undefined : present;
  for (let attempt = 1; ; attempt++) {
    let auth: RegistryAuth | undefined;
    try {
      auth = await registryAuthFor(services, request);
      const platform = await services.platform(signal);
      const image = await registry.resolve(pinToDigest(reference, request.digest), platform, auth, signal);
      countReceived(services, request, image.manifest.length + image.configBytes.length);
      return { kind: "image", image: { ...image, reference } };
    } catch (error) {
      if (!(error instanceof RegistryError)) throw error;
      const { kind, message, retryAfterMs = 0 } = error;
      const hasCredentials = auth !== undefined;
      const hint = error.hint ?? pullHint(kind, hasCredentials);
      const isPresent = fallback !== undefined;
      const decision = decideLookupRetry(kind, { attempt, attempts, present: isPresent, requiresCost, hasCredentials });
      if (decision === "use_local" && fallback) return useLocalImage(fallback.id);
      if (decision === "ask_engine") {
        const note = `The cost of the download is not known (${message}); leaving it to the container engine.`;
        const source = { kind: "engine", error: { kind, message, hint } } as const;
        return { kind: "found", source, events: [runningEvent("pulling", note)] };
      }
      if (decision !== "retry") throw new RegistryError(kind, message, { retryAfterMs, hint, cause: error });
      const delay = Math.max(fullJitter(attempt, RETRY, services.random()), Math.min(retryAfterMs, MAX_RETRY_AFTER_MS));
      const tries = `attempt ${attempt + 1} of ${attempts} in ${Math.ceil(delay / 1000)} s`;
      // Short pauses are not reported while the engine remains as a fallback.
      if (requiresCost || delay > MIN_REPORTED_DELAY_MS) {
        request.emit(runningEvent("pulling", `The registry cannot be reached (${message}); ${tries}.`));
      }
      await clock.sleep(delay, signal);
    }
  }
}

/** Engines name an image after its configuration, or after the digest in the registry. */
function isSame({ id, repoDigests }: ImageFacts, { config, digest, indexDigest }: ResolvedImage): boolean {
  const names = new Set([config.digest, digest, indexDigest]);
  return names.has(id) || repoDigests.some((name) => names.has(name.split("@")[1]));
}

/** Layers the engine knows by the registry's digests: those of images that it or the agent pulled. */
async function knownLayers(
  { engine, store }: ImageServices,
  signal: AbortSignal,
): Promise<readonly (readonly string[])[]> {
  const own = new Set(store.apps().flatMap(({ imageId, previousImageId }) => [imageId, previousImageId]));
  const chains = await engine.layerChains(signal);
  return chains
    .filter(({ isFromRegistry, imageId }) => isFromRegistry || own.has(imageId))
    .map(({ diffIds }) => diffIds);
}
