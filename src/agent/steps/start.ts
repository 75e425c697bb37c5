import type { AppSpec } from "../../protocol/app-spec.ts";
import { portInUseRefusal } from "../core/deployment/check.ts";
import { hostPortsOf, includesPort } from "../core/host/host-port.ts";
import type { Failure } from "../core/deployment/record.ts";
import type { Step } from "../core/deployment/step.ts";
import { EngineError } from "../engine/engine-error.ts";
import type { StepContext, StepResult } from "./context.ts";
import { findStartRefusal } from "./policy-check.ts";
import { withContainer } from "./observe.ts";

/** Starts the app. Precondition: its container exists; starting one that runs already is no error. */
export async function runStart(context: StepContext, step: Extract<Step, { kind: "start" }>): Promise<StepResult> {
  const { containerId } = step;
  const failure = await startOrSayWhichPort(context, step.spec, containerId);
  if (failure) return { failure };
  const { observed } = context;
  return {
    progress: { startedContainerId: containerId, stoppedContainerId: undefined },
    observed: withContainer(observed, containerId, { running: true, up: true }),
  };
}

/** Starts a container; a policy that forbids it, or a port that cannot be bound, is an answer, and no error. */
export async function startOrSayWhichPort(
  context: StepContext,
  spec: AppSpec,
  containerId: string,
): Promise<Failure | undefined> {
  const refusal = await findStartRefusal(context, spec, "starting");
  if (refusal) return refusal;
  try {
    await context.engine.startContainer(containerId, context.signal);
    return undefined;
  } catch (error) {
    if (!(error instanceof EngineError) || error.kind !== "port_in_use") throw error;
    // Taken between the check and now: find out which one, for the person who has to choose another.
    const details = await takenPort(context, spec, error);
    return { code: "ErrorPortInUse", message: "", step: "starting", details };
  }
}

async function takenPort(context: StepContext, spec: AppSpec, error: EngineError) {
  const ports = hostPortsOf(spec);
  const listening = await context.host.listeningPorts(context.signal);
  const port =
    ports.find((candidate) => error.message.includes(String(candidate.port))) ??
    ports.find((candidate) => includesPort(listening, candidate));
  if (port === undefined) return {};
  const holder = await context.host.findPortHolder(port, context.signal);
  return portInUseRefusal(port, holder && { kind: "process", ...holder }).details ?? {};
}
