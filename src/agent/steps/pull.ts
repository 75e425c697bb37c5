import type { EventContent } from "../../protocol/deployment-event.ts";
import { fullJitter } from "../../lib/backoff.ts";
import { parseImageReference } from "../../protocol/image-reference.ts";
import { runningEvent } from "../core/deployment/step-events.ts";
import { afterFailedPull } from "../core/image/pull-decision.ts";
import type { Step } from "../core/deployment/step.ts";
import { DownloadError } from "../download/download-error.ts";
import { LoopbackUnreachable } from "../download/image-downloader.ts";
import { EngineError } from "../engine/engine-error.ts";
import type { RegistryAuth } from "../core/image/registry-auth.ts";
import type { StepContext, StepResult } from "./context.ts";
import { NOTHING_CREATED } from "./observe.ts";
import { pullByAgent } from "./pull-by-agent.ts";
import { progressReporter } from "./pull-progress.ts";
import { PullSlot } from "./pull-slot.ts";
import { authFor } from "./registry-auth.ts";

const RETRY = { baseMs: 1_000, maxMs: 30_000 };

type PullStep = Extract<Step, { kind: "pull" }>;

/**
 * Gets the image onto the machine. Pulling what is there costs a look at the manifest, so running this again after a
 * crash does no harm. Precondition: the registry was asked what the image is, or only the engine knows the way.
 */
export async function runPull(context: StepContext, step: PullStep): Promise<StepResult> {
  const { engine, gate, emit, record, signal } = context;
  const { spec, source } = step;
  const bytes = source.kind === "registry" ? source.price.downloadBytes : 0;
  await gate.admit({ bytes, isUrgent: record.options.urgent ?? false, emit, signal });
  let events: readonly EventContent[];
  try {
    events = await pullOnce(context, step);
  } catch (error) {
    return await afterFailure(context, step, error);
  }
  const image = await engine.inspectImage(spec.image, signal);
  if (!image) throw new EngineError("unknown", `the image ${spec.image} is not there after it was pulled`);
  return { record: { imageId: image.id }, events, observed: NOTHING_CREATED };
}

async function pullOnce(context: StepContext, { spec, source }: PullStep): Promise<readonly EventContent[]> {
  const { config, signal } = context;
  if (context.pullSlots.isFull) context.emit(runningEvent("pulling", "Waiting for another download to finish."));
  using turn = await PullSlot.acquire(context.pullSlots, context.clock, signal);
  const auth = await authFor(context, spec.image);
  if (source.kind === "registry" && config.pullBy === "agent") {
    const events = await unlessUnable(context, pullByAgent(context, { ...source, auth }, turn));
    if (events) return events;
  }
  await pullByEngine(context, { spec, source, auth }, turn);
  return [];
}

/** Answers nothing where the agent cannot do it on this machine, and the engine has to. */
async function unlessUnable<T>({ emit }: StepContext, pulled: Promise<T>): Promise<T | undefined> {
  try {
    return await pulled;
  } catch (error) {
    const isUnable = error instanceof DownloadError && error.kind === "disk_failed";
    if (!isUnable && !(error instanceof LoopbackUnreachable)) throw error;
    emit(
      runningEvent(
        "pulling",
        `The agent cannot download for the container engine (${error.message}); it does so itself.`,
      ),
    );
    return undefined;
  }
}

async function pullByEngine(
  context: StepContext,
  { spec, source, auth }: Pick<PullStep, "spec" | "source"> & { readonly auth: RegistryAuth | undefined },
  turn: PullSlot,
): Promise<void> {
  const { engine, signal } = context;
  const onProgress = progressReporter(context, turn);
  if (source.kind === "engine" || parseImageReference(spec.image)?.digest !== undefined) {
    await engine.pullImage(spec.image, onProgress, signal, { auth });
    return;
  }
  // By digest: the tag may lead elsewhere by now, to an image of another price.
  const { registry, repository, digest, indexDigest } = source.image;
  const exact = `${registry}/${repository}@${indexDigest ?? digest}`;
  await engine.pullImage(exact, onProgress, signal, { auth });
  const image = await engine.inspectImage(exact, signal);
  if (image) await engine.tagImage(image.id, spec.image, signal);
}

async function afterFailure(context: StepContext, step: PullStep, error: unknown): Promise<StepResult> {
  const { config, clock, engine, signal } = context;
  const { spec, source, attempt } = step;
  if (error instanceof DownloadError) return await afterFailedDownload(context, step, error);
  if (!(error instanceof EngineError)) throw error;
  const isPresent = (await engine.inspectImage(spec.image, signal)) !== undefined;
  switch (afterFailedPull(error.kind, attempt, config.pullAttempts, isPresent)) {
    case "give_up":
      // What the agent found out by itself says more than the engine does.
      if (source.kind === "engine" && source.error.kind === error.kind) {
        throw new EngineError(error.kind, source.error.message, { cause: error });
      }
      throw error;
    case "use_present":
      return usePresent((await engine.inspectImage(spec.image, signal))?.id);
    case "retry": {
      const delay = fullJitter(attempt, RETRY, context.random());
      const tries = `attempt ${attempt + 1} of ${config.pullAttempts} in ${Math.ceil(delay / 1000)} s`;
      context.emit(runningEvent("pulling", `The registry cannot be reached (${error.message}); ${tries}.`));
      await clock.sleep(delay, signal);
      // Where only the engine knew the way, the agent may know it by now.
      const again = source.kind === "engine" ? { source: undefined } : {};
      return { progress: { pullAttempts: attempt, ...again }, observed: NOTHING_CREATED };
    }
  }
}

/** A download is given up only after it was as patient as it may be: it is not tried again. */
async function afterFailedDownload(
  { engine, signal }: StepContext,
  { spec }: PullStep,
  error: DownloadError,
): Promise<StepResult> {
  const present = error.kind === "no_progress" ? await engine.inspectImage(spec.image, signal) : undefined;
  if (!present) throw error;
  return usePresent(present.id);
}

function usePresent(imageId: string | undefined): StepResult {
  const note = "The registry cannot be reached; using the image that is on the device.";
  return { record: { imageId }, events: [runningEvent("pulling", note)], observed: NOTHING_CREATED };
}
