import type { AppSpec } from "../../protocol/apps/app-spec.ts";
import { runningEvent } from "../core/deployment/step-events.ts";
import type { AppRecord } from "../core/records.ts";
import type { Step } from "../core/deployment/step.ts";
import { EngineError } from "../engine/engine-error.ts";
import { missingDeviceFailure } from "./check.ts";
import type { ContainerStepContext, StepResult } from "./context.ts";
import { toRequest } from "./create.ts";
import { withMissingMounts } from "./missing-mounts.ts";
import { prepareNetworks } from "./networks.ts";
import { isEngineDown } from "./step-failure.ts";

/**
 * Tries all that a start needs while the app that is to be replaced or restarted runs: devices, networks, mounts, and that
 * the engine publishes ports. Changes nothing that is in use.
 */
export async function runTry(
  context: ContainerStepContext,
  { spec, image }: Extract<Step, { kind: "try" }>,
): Promise<StepResult> {
  const missing = await missingDeviceFailure(context, spec, "checking");
  if (missing) return { failure: missing };
  const { failure, made } = await tryStart(context, spec, image);
  if (failure) return { failure };
  return { progress: { isTried: true }, events: made.map(({ message }) => runningEvent("checking", message)) };
}

/** Tries again whether the engine can start apps, after it could not. Must be called with a lease of the app. */
export async function tryAgain(context: ContainerStepContext, { spec, imageId }: AppRecord): Promise<void> {
  try {
    await tryStart(context, spec, imageId);
  } catch (error) {
    if (isEngineDown(error) || !(error instanceof EngineError)) throw error;
  }
}

/** Tries what a start of the app needs. Returns a failure of what the app asks for; an `EngineError` for the rest. */
export async function tryStart(
  context: ContainerStepContext,
  spec: AppSpec,
  image: string,
): Promise<Pick<Awaited<ReturnType<typeof withMissingMounts>>, "failure" | "made">> {
  const { engine, troubles, logger, signal } = context;
  const networks = await prepareNetworks(context, spec, "checking");
  if (networks.failure) return { made: [], failure: networks.failure };
  const create = { kind: "create", spec, image, deploymentId: context.deploymentId, place: "app" } as const;
  const request = {
    ...toRequest(context, { ...create, previousImageId: undefined, refetch: false }, []),
    ...networks.request,
  };
  const target = { spec, image: async () => image, step: "checking" } as const;
  try {
    const trial = { ...request, furtherNetworks: networks.further };
    const outcome = await withMissingMounts(context, target, () => engine.tryStart(trial, signal));
    if (!outcome.failure) troubles.started();
    return outcome;
  } catch (error) {
    troubles.note(error);
    if (!isInconclusive(error)) throw error;
    logger.info({ app: spec.name, reason: error.message }, "whether the app can start could not be tried beforehand");
    return { made: [] };
  }
}

/** Whether the app may start after all, once what it replaces has stopped. */
function isInconclusive(error: unknown): error is EngineError {
  if (!(error instanceof EngineError)) return false;
  // The addresses and the memory of what runs become free, and the trial's own names may clash.
  if (["no_addresses", "conflict", "port_in_use"].includes(error.kind)) return true;
  return /cannot allocate memory|resource temporarily unavailable|too many open files/i.test(error.message);
}
