import { fullJitter } from "../../lib/backoff.ts";
import type { EventContent } from "../../protocol/deployment-event.ts";
import { runningEvent } from "../core/deployment/step-events.ts";
import type { ResolvedImage } from "../core/image/image.ts";
import { requiresKnownCost, costDetails, computePullCost, costText, findCostRefusal } from "../core/image/pull-cost.ts";
import { decideLookupRetry } from "../core/image/pull-decision.ts";
import type { Step } from "../core/deployment/step.ts";
import type { ImageFacts } from "../engine/engine.ts";
import { pinToDigest } from "../registry/address.ts";
import { RegistryError } from "../registry/registry-error.ts";
import type { RegistryAuth } from "../core/image/registry-auth.ts";
import type { StepContext, StepResult } from "./context.ts";
import { NOTHING_CREATED } from "./observe.ts";
import { costLimitsOf } from "./cost-limits.ts";
import { authFor } from "./registry-auth.ts";

type ResolveStep = Extract<Step, { kind: "resolve" }>;

const RETRY = { baseMs: 1_000, maxMs: 30_000 };
/** Longest that a registry's wish to be left alone is heeded, in milliseconds. */
const MAX_RETRY_AFTER_MS = 300_000;
const MIN_REPORTED_DELAY_MS = 5_000;

/**
 * Finds out what the image's reference stands for, and what getting it costs, before the first byte of a layer. Only
 * asks, so it may run any number of times: what it found out before a crash is asked for again by its digest.
 * Precondition: the checks passed, and the image is absent or its tag moves.
 */
export async function runResolve(context: StepContext, step: ResolveStep): Promise<StepResult> {
  const { config, engine, record, signal } = context;
  const reference = step.spec.image;
  const present = await engine.inspectImage(reference, signal);
  const found = await lookUp(context, step, present !== undefined);
  if (found.kind === "ask_engine") return found.result;
  if (found.kind === "use_present") return usePresent(present, [runningEvent("pulling", found.note)]);
  const { image } = found;
  if (present && isSame(present, image)) {
    return usePresent(present, [
      runningEvent("pulling", `Image ${reference} is already on the device, and is the newest.`),
    ]);
  }
  const price = computePullCost(image, await knownLayers(context));
  const freeBytes = await context.host.freeBytes(await context.dataRoot(signal));
  const refusal = findCostRefusal(price, {
    ...costLimitsOf(context),
    freeBytes,
    reserveBytes: config.diskReserveBytes,
  });
  if (refusal) {
    const { code, message = "", details } = refusal;
    return { failure: { code, message, step: "pulling", ...(details && { details }) } };
  }
  const priced = { ...runningEvent("pulling", costText(price)), details: costDetails(price) };
  return {
    record: { digest: image.indexDigest ?? image.digest },
    progress: { source: { kind: "registry", image, price } },
    // What a dry run costs is its end.
    events: record.options.dry_run ? [] : [priced],
    observed: NOTHING_CREATED,
  };
}

type LookupResult =
  | { readonly kind: "found"; readonly image: ResolvedImage }
  /** The image that is there will do. */
  | { readonly kind: "use_present"; readonly note: string }
  | { readonly kind: "ask_engine"; readonly result: StepResult };

async function lookUp(context: StepContext, step: ResolveStep, present: boolean): Promise<LookupResult> {
  const { config, record, signal, clock } = context;
  const { image: reference } = step.spec;
  const { dry_run: dryRun = false } = record.options;
  const mustKnow = dryRun || requiresKnownCost(costLimitsOf(context));
  for (let attempt = 1; ; attempt++) {
    let auth: RegistryAuth | undefined;
    try {
      auth = await authFor(context, reference);
      const platform = await context.platform(signal);
      const image = await context.registry.resolve(pinToDigest(reference, record.digest), platform, auth, signal);
      countDescription(context, image);
      return { kind: "found", image: { ...image, reference } };
    } catch (error) {
      if (!(error instanceof RegistryError)) throw error;
      const { kind, message, retryAfterMs = 0 } = error;
      const attempts = config.pullAttempts;
      const isKnown = auth !== undefined;
      switch (
        decideLookupRetry(kind, {
          attempt,
          attempts,
          present: present && !dryRun,
          requiresCost: mustKnow,
          hasCredentials: isKnown,
        })
      ) {
        case "give_up":
          throw error;
        case "use_present":
          return {
            kind: "use_present",
            note: "The registry cannot be reached; using the image that is on the device.",
          };
        case "ask_engine": {
          const note = `The price of the download is not known (${message}); leaving it to the container engine.`;
          const result: StepResult = {
            progress: { source: { kind: "engine", error: { kind, message } } },
            // Once: the engine tries several times.
            events: step.attempt === 1 ? [runningEvent("pulling", note)] : [],
            observed: NOTHING_CREATED,
          };
          return { kind: "ask_engine", result };
        }
        case "retry": {
          const delay = Math.max(
            fullJitter(attempt, RETRY, context.random()),
            Math.min(retryAfterMs, MAX_RETRY_AFTER_MS),
          );
          const tries = `attempt ${attempt + 1} of ${attempts} in ${Math.ceil(delay / 1000)} s`;
          // A moment is not worth a word, unless nobody else will try.
          if (mustKnow || delay > MIN_REPORTED_DELAY_MS) {
            context.emit(runningEvent("pulling", `The registry cannot be reached (${message}); ${tries}.`));
          }
          await clock.sleep(delay, signal);
        }
      }
    }
  }
}

/** What asking has cost, without what carries it. */
function countDescription({ ledger, record }: StepContext, { manifest, configBytes }: ResolvedImage): void {
  const bytes = manifest.length + configBytes.length;
  ledger.count({ purpose: "pulls", direction: "received", bytes, app: record.app, deployment: record.id });
}

function usePresent(present: ImageFacts | undefined, events: readonly EventContent[]): StepResult {
  return { record: { imageId: present?.id }, events, observed: NOTHING_CREATED };
}

/** Engines call an image after its configuration, or after what a registry calls it. */
function isSame({ id, repoDigests }: ImageFacts, { config, digest, indexDigest }: ResolvedImage): boolean {
  const names = new Set([config.digest, digest, indexDigest]);
  return names.has(id) || repoDigests.some((name) => names.has(name.split("@")[1]));
}

/** Layers that the engine knows under the names registries have for them: those of images it, or the agent, pulled. */
async function knownLayers({ engine, store, signal }: StepContext): Promise<readonly (readonly string[])[]> {
  const own = new Set(store.apps().flatMap(({ imageId, previousImageId }) => [imageId, previousImageId]));
  const chains = await engine.layerChains(signal);
  return chains
    .filter(({ isFromRegistry, imageId }) => isFromRegistry || own.has(imageId))
    .map(({ diffIds }) => diffIds);
}
