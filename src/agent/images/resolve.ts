import { fullJitter } from "../../lib/backoff.ts";
import { runningEvent } from "../core/deployment/step-events.ts";
import type { PresentImage, ResolvedImage } from "../core/image/image.ts";
import {
  computePullCost,
  costDetails,
  costText,
  findCostRefusal,
  findDepthRefusal,
  type PartsCosts,
  requiresKnownCost,
  withFiles,
} from "../core/image/pull-cost.ts";
import { decideLookupRetry, mayUsePresent } from "../core/image/pull-decision.ts";
import { pullHint } from "../core/image/pull-hint.ts";
import type { PlanPartsRequest } from "../download/ports.ts";
import { pinToDigest } from "../registry/address.ts";
import { RegistryError } from "../registry/registry-error.ts";
import type { RegistryAuth } from "../registry/registry.ts";
import { digestsOf } from "./digests.ts";
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
  const present =
    request.present === undefined ? await engine.inspectImage(reference, signal) : (request.present ?? undefined);
  const result = await lookUp(services, request, present);
  if (result.kind === "unmoved") return useNewest(reference, result.present, result.digest);
  if (result.kind !== "image") return result;
  const { image, chains, hasImages } = result;
  const digest = image.indexDigest ?? image.digest;
  if (present && isSame(present, image)) return useNewest(reference, present, digest);
  const { dataRoot, maxLayers } = await services.engineInfo(signal);
  const tooDeep = findDepthRefusal(image, maxLayers);
  if (tooDeep) return { kind: "refused", refusal: tooDeep };
  const whole = computePullCost(image, chains);
  const parts = await planParts(services, request, { image, hasImages, layersPresent: whole.layersPresent });
  const cost = computePullCost(image, chains, parts);
  const freeBytes = await host.freeBytes(dataRoot);
  const refusal = findCostRefusal(withFiles(cost, request.fetches), {
    ...costLimitsOf(services, request),
    freeBytes,
    reserveBytes: config.diskReserveBytes,
  });
  if (refusal) return { kind: "refused", refusal };
  const costEvent = { ...runningEvent("pulling", costText(cost)), details: costDetails(cost) };
  return {
    kind: "found",
    source: { kind: "registry", image, cost, before: present?.id },
    digest,
    // A dry run reports its cost in the final event.
    events: request.isDryRun ? [] : [costEvent],
  };
}

function useNewest(reference: string, { id }: PresentImage, digest: string): ResolveResult {
  const note = `Image ${reference} is already on the device, and is the newest.`;
  return { kind: "use_local", imageId: id, digest, isConfirmed: true, events: [runningEvent("pulling", note)] };
}

/** What the missing layers cost by parts. Only the agent fetches parts. */
async function planParts(
  services: ImageServices,
  request: ImageRequest,
  found: Pick<PlanPartsRequest, "image" | "hasImages" | "layersPresent">,
): Promise<PartsCosts> {
  if (services.config.pullBy !== "agent") return new Map();
  return await services.downloader.planParts({
    ...found,
    auth: await registryAuthFor(services, request),
    app: request.owner.app,
    maxTableBytes: minOf([services.config.maxDownloadBytes, request.maxDownloadBytes]),
    onReceived: (bytes) => countReceived(services, request, bytes),
    signal: request.signal,
  });
}

function minOf(limits: readonly (number | undefined)[]): number {
  return Math.min(...limits.map((limit) => limit ?? Infinity));
}

type LookupResult =
  | ({ readonly kind: "image"; readonly image: ResolvedImage } & KnownLayers)
  /** The tag means the image that is on the device. */
  | { readonly kind: "unmoved"; readonly present: PresentImage; readonly digest: string }
  | ResolveResult;

/** Asks the registry, and again after a pause, until it answers or the attempts are used up. */
async function lookUp(
  services: ImageServices,
  request: ImageRequest,
  present: PresentImage | undefined,
): Promise<LookupResult> {
  const { clock, config, registry } = services;
  const { reference, isDryRun = false, policy, signal } = request;
  const attempts = config.pullAttempts;
  const requiresCost = isDryRun || requiresKnownCost(costLimitsOf(services, request));
  const mayFallBack = mayUsePresent(policy, request.digest !== undefined);
  // A dry run with `changed` costs what the update would: nothing, if the registry cannot be asked.
  const fallback = mayFallBack && (!isDryRun || policy === "changed") ? present : undefined;
  for (let attempt = 1; ; attempt++) {
    let auth: RegistryAuth | undefined;
    try {
      auth = await registryAuthFor(services, request);
      const unmoved = await findUnmoved(services, request, present, auth);
      if (unmoved) return unmoved;
      const platform = await services.platform(signal);
      const [image, known] = await Promise.all([
        registry.resolve(pinToDigest(reference, request.digest), platform, auth, signal),
        knownLayers(services, signal),
      ]);
      countReceived(services, request, image.manifest.length + image.configBytes.length);
      return { kind: "image", image: { ...image, reference }, ...known };
    } catch (error) {
      if (!(error instanceof RegistryError)) throw error;
      const { kind, message, retryAfterMs = 0, receivedBytes } = error;
      if (receivedBytes > 0) countReceived(services, request, receivedBytes);
      const hasCredentials = auth !== undefined;
      const hint = error.hint ?? pullHint(kind, hasCredentials);
      const lookup = { reference, policy, attempt, attempts, requiresCost, hasCredentials };
      const decision = decideLookupRetry(kind, { ...lookup, present: fallback !== undefined });
      if (decision === "use_local" && fallback) return useLocalImage(services, request, fallback, error);
      if (decision === "ask_engine") {
        const note = `The cost of the download is not known (${message}); leaving it to the container engine.`;
        const source = { kind: "engine", error: { kind, message, hint }, before: present?.id } as const;
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

/**
 * Compares the digest of the tag with those of the image on the device, for the price of one request without a body.
 * Resolves to `undefined` if they differ or are not known: then the whole image is resolved.
 */
async function findUnmoved(
  services: ImageServices,
  { reference, digest: pinned, signal }: ImageRequest,
  present: PresentImage | undefined,
  auth: RegistryAuth | undefined,
): Promise<LookupResult | undefined> {
  if (!present || pinned !== undefined) return undefined;
  const known = digestsOf(services, reference, present);
  if (known.length === 0) return undefined;
  const digest = await services.registry.headDigest(reference, auth, signal);
  return digest !== undefined && known.includes(digest) ? { kind: "unmoved", present, digest } : undefined;
}

/** Engines name an image after its configuration, or after the digest in the registry. */
function isSame({ id, repoDigests }: PresentImage, { config, digest, indexDigest }: ResolvedImage): boolean {
  const names = new Set([config.digest, digest, indexDigest]);
  return names.has(id) || repoDigests.some((name) => names.has(name.split("@")[1]));
}

interface KnownLayers {
  /** Layers the engine knows by the registry's digests: those of images that it or the agent pulled. */
  readonly chains: readonly (readonly string[])[];
  /** Whether there is any image on the device. */
  readonly hasImages: boolean;
}

async function knownLayers({ engine, store }: ImageServices, signal: AbortSignal): Promise<KnownLayers> {
  const own = new Set(store.apps().flatMap(({ imageId, previousImageId }) => [imageId, previousImageId]));
  const all = await engine.layerChains(signal);
  const known = all.filter(({ isFromRegistry, imageId }) => isFromRegistry || own.has(imageId));
  return { chains: known.map(({ diffIds }) => diffIds), hasImages: all.length > 0 };
}
