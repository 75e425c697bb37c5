import { portInUse } from "../core/check.ts";
import { hostPortsOf, includesPort } from "../core/host-port.ts";
import type { Step } from "../core/plan.ts";
import { EngineError } from "../engine/engine-error.ts";
import type { StepContext, StepResult } from "./context.ts";

/** Starts the app. Precondition: its container exists; starting one that runs already is no error. */
export async function runStart(context: StepContext, step: Extract<Step, { kind: "start" }>): Promise<StepResult> {
  try {
    await context.engine.startContainer(step.containerId, context.signal);
  } catch (error) {
    if (!(error instanceof EngineError) || error.kind !== "port_in_use") throw error;
    // Taken between the check and now: find out which one, for the person who has to choose another.
    return {
      failure: {
        code: "ErrorPortInUse",
        message: "",
        step: "starting",
        details: await takenPort(context, step, error),
      },
    };
  }
  return {
    progress: { startedContainerId: step.containerId },
    observed: { containers: [{ id: step.containerId, running: true }] },
  };
}

async function takenPort(context: StepContext, step: Extract<Step, { kind: "start" }>, error: EngineError) {
  const ports = hostPortsOf(step.spec);
  const listening = await context.host.listeningPorts(context.signal);
  const port =
    ports.find((candidate) => error.message.includes(String(candidate.port))) ??
    ports.find((candidate) => includesPort(listening, candidate));
  if (port === undefined) return {};
  const holder = await context.host.holderOf(port, context.signal);
  return portInUse(port, holder && { kind: "process", ...holder }).details ?? {};
}
