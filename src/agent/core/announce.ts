import type { AppSpec } from "../../protocol/app-spec.ts";
import type { EventContent } from "../../protocol/deployment-event.ts";
import { errorEntry } from "../../protocol/errors.ts";
import type { Failure } from "./deployment.ts";
import type { Step } from "./plan.ts";
import { mayEnd } from "./restart-policy.ts";

/** What the client is told when a step begins; nothing where the step speaks for itself. */
export function announcement(step: Step): EventContent[] {
  switch (step.kind) {
    case "check":
      return [running("checking", "Checking ports, name, policy and disk space.")];
    case "pull":
      return [running("pulling", `Pulling image ${step.spec.image}.`)];
    case "create":
      return [
        running("creating", "Creating the container."),
        ...(step.spec.host_network && step.spec.ports.length > 0
          ? [running("creating", "The app is on the host's network: its port mapping has no effect.")]
          : []),
      ];
    case "start":
      return [running("starting", "Starting the app.")];
    case "verify":
      return [running("verifying", "Verifying that the app stays up.")];
    case "succeed":
      return [{ status: "Success", step: "done", message: successText(step.spec) }];
    case "fail":
      return [failEvent(step.failure)];
    case "clean":
      return [];
  }
}

function successText({ name, restart_policy }: AppSpec): string {
  // It may have ended by now, and that may be what it was deployed for.
  return mayEnd(restart_policy) ? `App ${name} is deployed.` : `App ${name} is running.`;
}

/** A `Running` event. */
export function running(step: EventContent["step"], message: string): EventContent {
  return { status: "Running", step, message };
}

function failEvent(failure: Failure): EventContent {
  const entry = errorEntry(failure.code);
  return {
    status: "Fail",
    step: failure.step,
    code: failure.code,
    // Texts the specification fixes are returned to the letter, whatever was known at the place of failure.
    message: entry.fixedMessage ? entry.message : failure.message,
    ...(failure.details && { details: failure.details }),
  };
}
