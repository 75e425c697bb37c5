import type { AppRecord } from "../records.ts";
import { formatTimes } from "../text.ts";
import { isUp } from "./container-decision.ts";
import type { ContainerSnapshot, RunEnd } from "./container-status.ts";
import { exitedSuccessfully, hasGivenUp, type RestartPolicy } from "./restart-policy.ts";

/** An app's container with the age of its run. */
export type AppContainerState = Pick<
  ContainerSnapshot,
  "status" | "restartCount" | "maxRestarts" | "exitCode" | "oomKilled" | "health"
> & {
  /** Milliseconds since the current or last run began. */
  readonly runsForMs: number;
};

/** State of an app, and what is wrong with it. */
export interface AppState {
  /** `finished`: it ended without an error, as its restart policy allows. */
  readonly state:
    | "running"
    | "starting"
    | "unhealthy"
    | "restarting"
    | "paused"
    | "stopped"
    | "finished"
    | "missing"
    | "deploying";
  /** A short text; `undefined` if nothing is wrong. */
  readonly trouble: string | undefined;
}

/** What the state of an app depends on. */
export interface AppSituation {
  /** `undefined` if the engine has none. */
  readonly container: AppContainerState | undefined;
  /** Whether a deployment of the app is pending. */
  readonly isBusy?: boolean;
  readonly desired?: AppRecord["desired"];
  /** The rule of the device's policy that the app violates, as text. */
  readonly forbidden?: string | undefined;
  readonly restartPolicy?: RestartPolicy | undefined;
  /** Why the agent does not bring it back yet, as text. */
  readonly held?: string | undefined;
  /** Its device files that are not on the device; only read while it does not run. */
  readonly missingDevices?: readonly string[];
  /** Why the agent could not bring it back when it tried last, as text. */
  readonly notRepaired?: string | undefined;
}

/** Returns the state of an app for people. */
export function appState(situation: AppSituation): AppState {
  const { state, trouble } = containerState(situation);
  const { held, notRepaired, forbidden, missingDevices = [] } = situation;
  if (trouble === undefined || (state !== "missing" && state !== "stopped")) return { state, trouble };
  // How the last run ended does not tell why there is no other one.
  const isRepairDue = forbidden === undefined && missingDevices.length === 0;
  const cause = notRepaired !== undefined && isRepairDue ? notRepairedText(notRepaired) : trouble;
  return { state, trouble: held === undefined ? cause : `${cause}; ${held}` };
}

/** Describes why the agent cannot bring an app back. */
export function notRepairedText(reason: string): string {
  return `it cannot be started: ${reason.replace(/\.$/, "")}`;
}

function containerState({
  container,
  isBusy = false,
  desired = "running",
  forbidden,
  restartPolicy,
  missingDevices = [],
}: AppSituation): AppState {
  if (isBusy && container?.status !== "running") return { state: "deploying", trouble: undefined };
  const isContainerUp = container !== undefined && isUp(container.status);
  if (desired === "stopped" && !isContainerUp) return { state: "stopped", trouble: undefined };
  if (forbidden !== undefined)
    return { state: isContainerUp ? "running" : "stopped", trouble: `the device's policy forbids it: ${forbidden}` };
  if (!container) return { state: "missing", trouble: "its container is not there" };
  if (hasFinished(container, restartPolicy)) return { state: "finished", trouble: undefined };
  const [device] = missingDevices;
  if (device !== undefined && container.status !== "running" && container.status !== "paused")
    return { state: container.status === "restarting" ? "restarting" : "stopped", trouble: missingDeviceText(device) };
  switch (container.status) {
    case "running":
      return runningState(container);
    case "restarting":
      return { state: "restarting", trouble: `it keeps stopping: ${lastExit(container)}` };
    case "paused":
      return { state: "paused", trouble: "its container was paused on the device, by docker pause or the like" };
    case "created":
      // Podman prepares a container anew between two runs.
      return container.restartCount > 0
        ? { state: "restarting", trouble: `it keeps stopping: restarted ${formatTimes(container.restartCount)}` }
        : { state: "stopped", trouble: "its container was never started" };
    case "removing":
    case "dead":
      return { state: "stopped", trouble: "the engine could not remove its container; the agent makes another one" };
    case "unknown":
      return { state: "stopped", trouble: "the engine says nothing of its container that this agent understands" };
    case "exited":
      return { state: "stopped", trouble: `${lastExit(container)}${givenUpText(container)}` };
  }
}

/** Describes why an app does not start. */
export function missingDeviceText(path: string): string {
  return `its device file ${path} is not there`;
}

/** Whether an app that may end has ended without an error. */
export function hasFinished(
  container: Pick<ContainerSnapshot, "status" | "exitCode">,
  restartPolicy: RestartPolicy | undefined,
): boolean {
  return container.status === "exited" && exitedSuccessfully(restartPolicy, container.exitCode);
}

/** Says that the engine does not restart an app again, after how it ended. */
function givenUpText(container: AppContainerState): string {
  if (!hasGivenUp(container)) return "";
  return `; it was restarted ${formatTimes(container.restartCount)}, as often as max_restarts allows`;
}

/** Describes how a run ended. */
export function lastExit({ exitCode, oomKilled }: RunEnd): string {
  if (oomKilled) return "killed because it ran out of memory";
  const signal = SIGNALS[exitCode];
  return signal === undefined ? `ended with exit code ${exitCode}` : `ended with exit code ${exitCode} (${signal})`;
}

// 128 + signal number, as shells report it, and the codes of shells and engines themselves.
const SIGNALS: Readonly<Record<number, string>> = {
  126: "the command cannot be executed",
  127: "the command was not found",
  134: "it aborted",
  137: "killed from outside",
  139: "it crashed: segmentation fault",
  143: "asked to stop",
};

/** A run of this length counts as stable, regardless of earlier restarts. */
const STABLE_RUN_MS = 600_000;

function runningState({ health, restartCount, runsForMs }: AppContainerState): AppState {
  // An app in a crash loop is running most of the time.
  if (restartCount > 0 && runsForMs < STABLE_RUN_MS) {
    const seconds = Math.max(0, Math.round(runsForMs / 1000));
    return {
      state: "running",
      trouble: `it keeps stopping: restarted ${formatTimes(restartCount)}, the last time ${seconds} s ago`,
    };
  }
  if (health === "unhealthy") return { state: "unhealthy", trouble: "its health check fails" };
  return { state: health === "starting" ? "starting" : "running", trouble: undefined };
}
