import type { EventContent } from "../../protocol/deployment-event.ts";
import { fullJitter } from "../../lib/backoff.ts";
import { running } from "../core/announce.ts";
import type { Step } from "../core/step.ts";
import { afterFailedPull } from "../core/pull-decision.ts";
import type { PullProgress } from "../engine/engine.ts";
import { EngineError } from "../engine/engine-error.ts";
import type { StepContext, StepResult } from "./context.ts";
import { NOTHING_CREATED } from "./observe.ts";
import { PullTurn } from "./pull-turn.ts";

const PROGRESS_INTERVAL_MS = 1_000;
const RETRY = { baseMs: 1_000, maxMs: 30_000 };

type PullStep = Extract<Step, { kind: "pull" }>;

/**
 * Gets the image onto the machine. Pulling what is there costs a look at the manifest, so running this again after a
 * crash does no harm. Precondition: the checks passed, and the image is absent or its tag moves.
 */
export async function runPull(context: StepContext, { spec }: PullStep): Promise<StepResult> {
  const { gate, emit, signal } = context;
  await gate.admit({ bytes: 0, urgent: false, emit, signal });
  if (context.pulls.isFull) context.emit(running("pulling", "Waiting for another download to finish."));
  using turn = await PullTurn.take(context.pulls, context.clock, signal);
  const events = await pullWithRetries(context, spec.image, turn);
  const image = await context.engine.inspectImage(spec.image, context.signal);
  if (!image) throw new EngineError("unknown", `the image ${spec.image} is not there after it was pulled`);
  return { record: { imageId: image.id }, events, observed: NOTHING_CREATED };
}

async function pullWithRetries(context: StepContext, image: string, turn: PullTurn): Promise<EventContent[]> {
  const { config, engine, clock, signal } = context;
  for (let attempt = 1; ; attempt++) {
    try {
      await engine.pullImage(image, progressReporter(context, turn), signal);
      return [];
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      const isPresent = (await engine.inspectImage(image, signal)) !== undefined;
      const next = afterFailedPull(error.kind, attempt, config.pullAttempts, isPresent);
      if (next === "give_up") throw error;
      if (next === "use_present") {
        return [running("pulling", `The registry cannot be reached; using the image that is on the device.`)];
      }
      const delay = fullJitter(attempt, RETRY, context.random());
      const tries = `attempt ${attempt + 1} of ${config.pullAttempts} in ${Math.ceil(delay / 1000)} s`;
      context.emit(running("pulling", `The registry cannot be reached (${error.message}); ${tries}.`));
      await clock.sleep(delay, signal);
    }
  }
}

/** Turns the engine's progress into at most one event a second: the link is metered. */
function progressReporter({ clock, emit }: StepContext, turn: PullTurn): (progress: PullProgress) => void {
  let lastSeen = 0;
  let lastAt = Number.NEGATIVE_INFINITY;
  let lastDone = -1;
  let lastPercent = 0;
  return ({ done, total }) => {
    if (done > lastSeen) turn.progressed();
    lastSeen = Math.max(lastSeen, done);
    if (total === 0 || done === lastDone || clock.monotonic() - lastAt < PROGRESS_INTERVAL_MS) return;
    // Totals grow while manifests are read; a bar that goes back would be worse than one that waits.
    const percent = Math.max(lastPercent, Math.min(100, Math.floor((done / total) * 100)));
    lastAt = clock.monotonic();
    lastDone = done;
    lastPercent = percent;
    emit({
      ...running("pulling", `Pulling image: ${percent}% (${inMegabytes(done)} of ${inMegabytes(total)} MB).`),
      progress: percent,
      bytes: { done, total },
    });
  };
}

function inMegabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(1);
}
