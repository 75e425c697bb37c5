import type { AppSpec } from "../../protocol/apps/app-spec.ts";
import { type PortConflict, portInUseRefusal, toRefusalFailure } from "../core/deployment/check.ts";
import { hostPortsOf, includesPort } from "../core/host/host-port.ts";
import type { Failure } from "../core/records.ts";
import { runningEvent } from "../core/deployment/step-events.ts";
import type { Step } from "../core/deployment/step.ts";
import { EngineError } from "../engine/engine-error.ts";
import { placeNameIn } from "../files/place.ts";
import { placeFiles } from "../files/placer.ts";
import { missingDeviceFailure } from "./check.ts";
import type { ContainerStepContext, StepResult } from "./context.ts";
import { withMissingMounts } from "./missing-mounts.ts";
import { joinFurtherNetworks, rejoinNetworks } from "./networks.ts";
import { findStartRefusal } from "./policy-check.ts";
import { findOwnerDown } from "./shared-network.ts";
import { isEngineDown } from "./step-failure.ts";
import { withContainer } from "./observe.ts";

/** Starts the app; it is no error if it runs already. Precondition: its container exists. */
export async function runStart(
  context: ContainerStepContext,
  { spec, containerId }: Extract<Step, { kind: "start" }>,
): Promise<StepResult> {
  const result = await startContainer(context, spec, containerId);
  if (result.failure) return result;
  return {
    ...result,
    progress: { startedContainerId: containerId, stoppedContainerId: undefined },
    observed: withContainer(context.observed, containerId, { running: true, up: true }),
  };
}

/** Starts a container. Returns a failure when the policy forbids it, a port is in use or a volume does not exist. */
export async function startContainer(
  context: ContainerStepContext,
  spec: AppSpec,
  containerId: string,
): Promise<Pick<StepResult, "failure" | "events">> {
  const refusal = (await findStartRefusal(context, spec, "starting")) ?? (await findOwnerDown(context, spec));
  if (refusal) return { failure: refusal };
  const image = async (): Promise<string> => {
    return (await context.engine.readContainerConfig(containerId, context.signal))?.imageId ?? spec.image;
  };
  try {
    // A directory below /run is gone after a reboot.
    const { failure, made } = await withMissingMounts(context, { spec, image, step: "starting" }, () =>
      startWithFiles(context, { spec, image, containerId }),
    );
    if (!failure && spec.ports.length > 0 && !spec.host_network) context.troubles.started();
    return { events: made.map(({ message }) => runningEvent("starting", message)), ...(failure && { failure }) };
  } catch (error) {
    context.troubles.note(error);
    const missing = await missingDeviceFailure(context, spec, "starting");
    if (missing && !isEngineDown(error)) return { failure: missing };
    if (error instanceof ForeignNetwork) return { failure: error.failure };
    if (!(error instanceof EngineError) || error.kind !== "port_in_use") throw error;
    // Taken since the check. The details name the port, for the person who has to choose another one.
    const refused = portInUseRefusal(await identifyPortConflict(context, spec, error));
    return { failure: toRefusalFailure(refused, "starting") };
  }
}

/** Why a container cannot be put on its networks again. */
class ForeignNetwork extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** Starts a container on all its networks. A crash may have come before it joined them, or they were removed behind it. */
async function startOnNetworks(context: ContainerStepContext, spec: AppSpec, containerId: string): Promise<void> {
  const { engine, signal } = context;
  try {
    await joinFurtherNetworks(context, spec, containerId);
    return await engine.startContainer(containerId, signal);
  } catch (error) {
    if (!(error instanceof EngineError) || error.kind !== "network_missing") throw error;
  }
  const failure = await rejoinNetworks(context, spec, containerId);
  if (failure) throw new ForeignNetwork(failure);
  await engine.startContainer(containerId, signal);
}

/** Starts a container. Files of the app that have gone from their place are put there again. */
async function startWithFiles(
  context: ContainerStepContext,
  { spec, image, containerId }: { spec: AppSpec; image: () => Promise<string>; containerId: string },
): Promise<void> {
  try {
    await startOnNetworks(context, spec, containerId);
  } catch (error) {
    const name = error instanceof EngineError && error.path !== undefined ? placeNameIn(error.path) : undefined;
    if (name === undefined) throw error;
    await placeFiles(context, { spec, name, image });
    await startOnNetworks(context, spec, containerId);
  }
}

async function identifyPortConflict(
  { host, signal }: Pick<ContainerStepContext, "host" | "signal">,
  spec: AppSpec,
  error: EngineError,
): Promise<PortConflict | undefined> {
  const ports = hostPortsOf(spec);
  const listening = await host.listeningPorts(signal);
  const port =
    ports.find((candidate) => candidate.port === error.port) ??
    ports.find((candidate) => includesPort(listening, candidate));
  if (port === undefined) return undefined;
  const holder = await host.findPortHolder(port, signal);
  return { port, holder: holder && { kind: "process", ...holder } };
}
