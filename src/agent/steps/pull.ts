import { fullJitter } from "../../lib/backoff.ts";
import { parseImageReference } from "../../protocol/image-reference.ts";
import { running } from "../core/announce.ts";
import { afterFailedPull } from "../core/pull-decision.ts";
import type { Step } from "../core/step.ts";
import { EngineError } from "../engine/engine-error.ts";
import type { StepContext, StepResult } from "./context.ts";
import { NOTHING_CREATED } from "./observe.ts";
import { progressReporter } from "./pull-progress.ts";
import { PullTurn } from "./pull-turn.ts";
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
  await gate.admit({ bytes, urgent: record.options.urgent ?? false, emit, signal });
  const error = await pullOnce(context, step).catch((problem: unknown) => problem);
  if (error !== undefined) return await afterFailure(context, step, error);
  const image = await engine.inspectImage(spec.image, signal);
  if (!image) throw new EngineError("unknown", `the image ${spec.image} is not there after it was pulled`);
  return { record: { imageId: image.id }, observed: NOTHING_CREATED };
}

async function pullOnce(context: StepContext, { spec, source }: PullStep): Promise<undefined> {
  const { engine, signal } = context;
  if (context.pulls.isFull) context.emit(running("pulling", "Waiting for another download to finish."));
  using turn = await PullTurn.take(context.pulls, context.clock, signal);
  const onProgress = progressReporter(context, turn);
  const auth = await authFor(context, spec.image);
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
  if (!(error instanceof EngineError)) throw error;
  const isPresent = (await engine.inspectImage(spec.image, signal)) !== undefined;
  switch (afterFailedPull(error.kind, attempt, config.pullAttempts, isPresent)) {
    case "give_up":
      // What the agent found out by itself says more than the engine does.
      if (source.kind === "engine" && source.problem.kind === error.kind) {
        throw new EngineError(error.kind, source.problem.message, { cause: error });
      }
      throw error;
    case "use_present": {
      const imageId = (await engine.inspectImage(spec.image, signal))?.id;
      const note = "The registry cannot be reached; using the image that is on the device.";
      return { record: { imageId }, events: [running("pulling", note)], observed: NOTHING_CREATED };
    }
    case "retry": {
      const delay = fullJitter(attempt, RETRY, context.random());
      const tries = `attempt ${attempt + 1} of ${config.pullAttempts} in ${Math.ceil(delay / 1000)} s`;
      context.emit(running("pulling", `The registry cannot be reached (${error.message}); ${tries}.`));
      await clock.sleep(delay, signal);
      // Where only the engine knew the way, the agent may know it by now.
      const again = source.kind === "engine" ? { source: undefined } : {};
      return { progress: { pullAttempts: attempt, ...again }, observed: NOTHING_CREATED };
    }
  }
}
