import { PulledImages } from "../cleanup/pulled-images.ts";
import type { Step } from "../core/deployment/step.ts";
import { StoreError } from "../store/store.ts";
import type { StepContext, StepResult } from "./context.ts";
import { runPull } from "./pull.ts";

/** Pulls, and remembers that it was the agent who did: only such an image is ever removed again. */
export async function runTrackedPull(context: StepContext, step: Extract<Step, { kind: "pull" }>): Promise<StepResult> {
  const { engine, store, signal } = context;
  const reference = step.spec.image;
  const pulled = new PulledImages(store);
  const before = await engine.inspectImage(reference, signal);
  tolerateStoreError(context, () => pulled.begin(reference, before?.id ?? null));
  const result = await runPull(context, step);
  const imageId = result.record?.imageId;
  if (imageId !== undefined) tolerateStoreError(context, () => pulled.complete(reference, imageId));
  return result;
}

/** An image that is not remembered stays longer than it must. That is no reason to fail a deployment. */
function tolerateStoreError({ logger }: StepContext, write: () => void): void {
  try {
    write();
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    logger.warn({ err: error }, "an image could not be noted as pulled; it will not be cleaned up");
  }
}
