import type { AppSpec } from "../../protocol/apps/app-spec.ts";
import { toRefusalFailure } from "../core/deployment/check.ts";
import type { Step } from "../core/deployment/step.ts";
import { pullPolicyOf } from "../core/image/pull-decision.ts";
import type { ImageRequest, LocalImage } from "../images/ports.ts";
import type { StepContext, StepResult } from "./context.ts";
import { NOTHING_CREATED } from "./observe.ts";

type ImageStepContext = Pick<StepContext, "images" | "record" | "emit" | "signal">;

/**
 * Finds out what the image reference stands for and what the pull costs. Precondition: the checks passed, and the image
 * is absent or its tag moves.
 */
export async function runResolve(
  context: ImageStepContext,
  { spec, attempt, present }: Extract<Step, { kind: "resolve" }>,
): Promise<StepResult> {
  const result = await context.images.resolve({ ...toImageRequest(context, spec), present });
  switch (result.kind) {
    case "use_local":
      return useLocal(result);
    case "refused":
      return { failure: toRefusalFailure(result.refusal, "pulling") };
    case "found": {
      const { source, digest, events } = result;
      return {
        ...(digest !== undefined && { record: { digest } }),
        progress: { source },
        // The engine is tried several times; that it is tried at all is reported once.
        events: source.kind === "engine" && attempt > 1 ? [] : events,
        observed: NOTHING_CREATED,
      };
    }
  }
}

/** Pulls the image. Precondition: `source` was resolved by this run of the agent. */
export async function runPull(
  context: ImageStepContext,
  { spec, source, attempt }: Extract<Step, { kind: "pull" }>,
): Promise<StepResult> {
  const result = await context.images.pull(toImageRequest(context, spec), source, attempt);
  if (result.kind === "retry") {
    const progress = { pullAttempts: attempt, ...(result.mustResolve && { source: undefined }) };
    return { progress, observed: NOTHING_CREATED };
  }
  if (result.kind === "use_local") return useLocal(result);
  return {
    record: { imageId: result.imageId, digest: result.digest },
    progress: { imageCheck: "confirmed" },
    events: result.events,
    observed: NOTHING_CREATED,
  };
}

/** The digest resolved before may be that of an image that could not be pulled. */
function useLocal({ imageId, digest, isConfirmed, events }: LocalImage): StepResult {
  return {
    record: { imageId, digest },
    progress: { imageCheck: isConfirmed ? "confirmed" : "unknown" },
    events,
    observed: NOTHING_CREATED,
  };
}

function toImageRequest({ record, emit, signal }: ImageStepContext, spec: AppSpec): ImageRequest {
  const { id, action, app, digest, fetches, options } = record;
  return {
    reference: spec.image,
    digest,
    policy: pullPolicyOf(action, spec),
    auth: options.registry_auth,
    maxDownloadBytes: options.max_download_bytes,
    fetches,
    isUrgent: options.urgent,
    isDryRun: options.dry_run,
    owner: { app, deployment: id },
    emit,
    signal,
  };
}
