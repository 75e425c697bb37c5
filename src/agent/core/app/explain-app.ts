import type { AppRecord } from "../records.ts";
import { capitalize, formatTimes } from "../text.ts";
import {
  type AppContainerState,
  appState,
  hasFinished,
  lastExit,
  missingDeviceText,
  notRepairedText,
} from "./app-state.ts";
import { failedDiskAdvice, failedDiskText } from "../host/disk-fault.ts";
import { decisionOn, isLeftover } from "./container-decision.ts";
import type { RunEnd } from "./container-status.ts";
import type { RestartPolicy } from "./restart-policy.ts";

/** What is known of an app, for its explanation. */
export interface AppSnapshot {
  readonly name: string;
  /** Its image; `undefined` if no deployment of it succeeded. */
  readonly image: string | undefined;
  readonly desired: AppRecord["desired"];
  readonly engineError: string | undefined;
  readonly container: (AppContainerState & { readonly healthOutput: string }) | undefined;
  /** `undefined` if it has none of its own. */
  readonly restartPolicy: RestartPolicy | undefined;
  /** How the run before the present one ended; `undefined` if that is not known. */
  readonly lastRun: RunEnd | undefined;
  readonly imagePresent: boolean | undefined;
  /** Its device files that are not on the device; empty while it runs. */
  readonly missingDevices: readonly string[];
  /** That another tool has made its container, as text; absent if the agent has. */
  readonly foreign?: string | undefined;
  /** A path that it mounts from a disk that fails or is gone. */
  readonly failedDisk?: string | undefined;
  readonly takenPorts: readonly { readonly port: number; readonly holder: string }[];
  /** The rule of the device's policy that it violates, as text. */
  readonly policyDenial: string | undefined;
  /** Why the agent does not bring it back yet, as text. */
  readonly held: string | undefined;
  /** Why the agent could not bring it back when it tried last, as text. */
  readonly notRepaired: string | undefined;
  /** Last message of its pending deployment. */
  readonly deploying: string | undefined;
  /** Why its last deployment failed. */
  readonly lastFailure: string | undefined;
  readonly lastRepair: { readonly reason: string; readonly error: string | undefined } | undefined;
}

/** One fact between the deployment and a running app. */
export interface Finding {
  /** `note` is neither good nor bad by itself. */
  readonly verdict: "good" | "bad" | "note";
  readonly text: string;
}

export interface Explanation {
  readonly findings: readonly Finding[];
  /** The first problem, in one sentence; `undefined` if there is none. */
  readonly cause: string | undefined;
  /** That all is well, in one sentence; `undefined` if there is a problem. */
  readonly conclusion: string | undefined;
  /** What a person can do about it. */
  readonly advice: string | undefined;
}

/**
 * Checks an app from "was it deployed?" to "is it healthy?". The cause is the first problem: others may follow from it.
 */
export function explainApp(known: AppSnapshot): Explanation {
  const findings: Finding[] = [];
  const add = (verdict: Finding["verdict"], text: string): void => void findings.push({ verdict, text });
  const conclude = (cause: string, advice: string): Explanation => ({ findings, ...problem(cause, advice) });

  if (known.deploying !== undefined) add("note", `A deployment of it is going on: ${known.deploying}`);
  if (known.image === undefined) {
    add("bad", "It is not installed: no deployment of it succeeded.");
    if (known.lastFailure !== undefined) add("note", `Its last deployment failed: ${known.lastFailure}`);
    return known.deploying === undefined
      ? conclude("It was never deployed successfully.", `See its deployment with: edge-agent events`)
      : conclude("It is being deployed.", "Follow it with: edge-agent events -f");
  }
  add("good", `It was deployed, from ${known.image}.`);
  if (known.engineError !== undefined) {
    add("bad", `The container engine cannot be asked: ${known.engineError}`);
    return conclude(
      `The container engine cannot be asked about it: ${known.engineError.replace(/[.]$/, "")}.`,
      "Check the engine first: edge-agent doctor",
    );
  }
  if (known.imagePresent === false) add("bad", "Its image is no longer on the device.");
  else if (known.imagePresent) add("good", "Its image is on the device.");
  const diagnosis = explainState(known, add);
  if (known.lastRepair) addRepair(known.lastRepair, add);
  return { findings, ...diagnosis };
}

function explainState(known: AppSnapshot, add: AddFinding): Diagnosis {
  if (known.policyDenial !== undefined) add("bad", `The device's policy forbids it: ${known.policyDenial}`);
  if (isStoppedOnPurpose(known)) return explainStopped(known, add);
  if (known.policyDenial === undefined) {
    return isDown(known.container) && known.held !== undefined
      ? explainHeld(known, known.held, add)
      : explainContainer(known, add);
  }
  return problem(
    "The device's policy forbids it, so it is not started.",
    "Update the app, or the app it conflicts with, or change `policy` in the device's configuration and restart the " +
      "agent; then it starts by itself.",
  );
}

function isStoppedOnPurpose({ desired, container }: AppSnapshot): boolean {
  return desired === "stopped" && appState({ container, desired }).state === "stopped";
}

function explainStopped({ name }: AppSnapshot, add: AddFinding): Diagnosis {
  add("note", "It was stopped on purpose, and stays stopped, also over reboots.");
  return problem("It was stopped on purpose.", `Start it again: edge-agent start ${name}`);
}

/** Whether the agent would bring it back. */
function isDown(container: AppSnapshot["container"]): boolean {
  return !container || decisionOn(container.status).whenToRun !== "leave";
}

/** Its container tells how its last run ended, and not why it is left like that. */
function explainHeld(known: AppSnapshot, held: string, add: AddFinding): Diagnosis {
  const diagnosis = explainContainer(known, add);
  if (diagnosis.cause === undefined) return diagnosis;
  add("bad", `The agent does not bring it back at present: ${held}.`);
  return problem(
    `${capitalize(held)}.`,
    "See how the agent ended: sudo journalctl -u edge-agent. To have it tried at once: sudo systemctl restart edge-agent",
  );
}

type AddFinding = (verdict: Finding["verdict"], text: string) => void;
type Diagnosis = Pick<Explanation, "cause" | "advice" | "conclusion">;

function problem(cause: string, advice: string): Diagnosis {
  return { cause, advice, conclusion: undefined };
}

function allIsWell(conclusion: string): Diagnosis {
  return { cause: undefined, advice: undefined, conclusion };
}

function explainContainer(known: AppSnapshot, add: AddFinding): Diagnosis {
  const { container, takenPorts, name, restartPolicy, missingDevices } = known;
  if (container && hasFinished(container, restartPolicy)) {
    const text = `it ended with exit code 0, as its restart policy (${restartPolicy}) allows`;
    add("good", `It has done its work: ${text}.`);
    return allIsWell("It has finished.");
  }
  if (!container) add("bad", "It has no container.");
  else add(container.status === "running" ? "good" : "bad", `Its container is ${container.status}.`);
  if (container && container.restartCount > 0) {
    add(
      container.status === "running" ? "note" : "bad",
      `The engine restarted it ${formatTimes(container.restartCount)}.`,
    );
  }
  for (const { port, holder } of takenPorts) add("bad", `Its port ${port} is taken by ${holder}.`);
  for (const device of missingDevices) add("bad", `Its device file ${device} is not there.`);
  const [missing] = missingDevices;
  if (missing !== undefined && container?.status !== "running") {
    return problem(
      `${capitalize(missingDeviceText(missing))}.`,
      "Plug the device in, or update the app. The agent starts it within 30 s after the device is there.",
    );
  }
  const taken = takenPorts[0];
  if (taken && container?.status !== "running") {
    return problem(
      `Port ${taken.port} is taken by ${taken.holder}.`,
      "Stop that, and the agent starts the app by itself.",
    );
  }
  if (isDown(container) && known.notRepaired !== undefined) {
    if (container?.status === "exited") add("bad", `Its last run: ${lastExit(container)}.`);
    return problem(
      `${capitalize(notRepairedText(known.notRepaired))}.`,
      `Mend that, and the agent starts it by itself, after ten minutes at most; at once: edge-agent restart ${name}`,
    );
  }
  if (!container) return explainMissing(known);
  if (container.status === "running") return explainRunning(container, known, add);
  const { trouble } = appState({ container, restartPolicy });
  if (container.status === "exited" || container.status === "restarting")
    add("bad", `Its last run: ${lastExit(container)}.`);
  return problem(`${capitalize(trouble ?? "it does not run")}.`, adviceFor(container, container, name));
}

function explainMissing({ imagePresent, restartPolicy, name }: AppSnapshot): Diagnosis {
  if (imagePresent === false)
    return problem("Its container and its image were removed.", "Deploy it again, so that the image is pulled.");
  if (restartPolicy === "no") {
    return problem(
      "Its container was removed, and its restart policy (no) lets it run once only.",
      `Run it again: edge-agent start ${name}`,
    );
  }
  return problem(
    "Its container was removed.",
    `The agent makes a new one within 30 s; follow it: edge-agent logs -f, then: edge-agent app ${name}`,
  );
}

function explainRunning(
  container: NonNullable<AppSnapshot["container"]>,
  { name, lastRun, foreign, failedDisk }: AppSnapshot,
  add: AddFinding,
): Diagnosis {
  switch (container.health) {
    case "unhealthy":
      add("bad", `Its health check fails${container.healthOutput ? `: ${container.healthOutput}` : "."}`);
      return problem(
        "It runs, but its health check fails.",
        "Look at its log, above, and at what it needs: network, volumes, other apps.",
      );
    case "starting":
      add("note", "Its health check has not passed yet.");
      break;
    case "healthy":
      add("good", "Its health check passes.");
      break;
    case "none":
      add("note", "Its image has no health check: only whether it runs is known.");
  }
  const { trouble } = appState({ container });
  if (failedDisk !== undefined) {
    const text = `${capitalize(failedDiskText(failedDisk))}.`;
    add("bad", text);
    return problem(text, failedDiskAdvice(failedDisk, name));
  }
  if (trouble === undefined && foreign !== undefined) {
    add("bad", `Not as it was deployed: ${foreign}.`);
    return problem(
      `${capitalize(foreign)}.`,
      `To have it as it was deployed: echo '{}' | edge-agent update ${name} -f -`,
    );
  }
  if (trouble === undefined) return allIsWell("It runs.");
  add("bad", `The run before: ${lastRun ? lastExit(lastRun) : "its exit code is not known any more"}.`);
  return problem(`${capitalize(trouble)}.`, adviceFor(container, lastRun, name));
}

function adviceFor({ status }: AppContainerState, lastRun: RunEnd | undefined, name: string): string {
  const exitCode = lastRun?.exitCode;
  if (lastRun?.oomKilled)
    return "It needs more memory than the device has free: stop other apps, or use a smaller version.";
  if (exitCode === 126 || exitCode === 127)
    return "The image's command is missing or not executable: deploy another image.";
  if (status === "paused")
    return `The agent leaves it paused. Resume it with the engine's own command (docker unpause), or start it anew: edge-agent restart ${name}`;
  if (isLeftover(status))
    return `The agent makes another one within 30 s; follow it: edge-agent logs -f, then: edge-agent app ${name}`;
  return `Its last log lines, above, say more. Start it again: edge-agent restart ${name}`;
}

function addRepair({ reason, error }: NonNullable<AppSnapshot["lastRepair"]>, add: AddFinding): void {
  if (error === undefined) add("note", `The agent has repaired it before: ${reason}.`);
  else add("bad", `The agent tried to repair it (${reason}) and could not: ${error}`);
}
