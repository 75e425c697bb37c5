import type { AppRecord } from "../deployment/record.ts";
import { hasTemporaryName } from "./container.ts";
import { type ContainerStatus, isUp } from "./container-status.ts";
import { recreateStep } from "../deployment/plan-lifecycle.ts";
import { staysExited } from "./restart-policy.ts";
import type { Step } from "../deployment/step.ts";

/** A container of an installed app as the engine shows it. */
export interface AppContainer {
  readonly id: string;
  readonly name: string;
  readonly status: ContainerStatus;
  /** Of the last run, where it matters and is known. */
  readonly exitCode?: number | undefined;
}

/** What has to be done so that an app runs as it should, and why: for the log and whoever reads it. */
export interface Repair {
  readonly step: Extract<Step, { kind: "create" | "start" | "stop" | "rename" | "clean" }>;
  readonly reason: string;
}

/**
 * The next thing to put right about an app, or `undefined` when it is as it should be. An app that crashes is none of
 * this: the engine restarts it by its restart policy, and what it is then shows in its state. A paused one was paused
 * by somebody for a reason. One that was stopped through the agent stays stopped, and one whose restart policy lets it
 * end is left alone once it has.
 */
export function nextRepair(app: AppRecord, containers: readonly AppContainer[]): Repair | undefined {
  const { spec, desired } = app;
  const [container, ...surplus] = containers;
  // Run to its end, and cleared away since, for all that can be seen.
  if (!container && (desired === "stopped" || spec.restart_policy === "no")) return undefined;
  if (!container) return { step: recreateStep(app), reason: "its container was removed" };
  if (surplus.length > 0) {
    return {
      step: { kind: "clean", containerIds: surplus.map(({ id }) => id) },
      reason: "it had more than one container",
    };
  }
  if (container.status !== "dead" && hasTemporaryName(container.name, app.name)) {
    return {
      step: { kind: "rename", app: app.name, containerId: container.id },
      reason: "its container had another name",
    };
  }
  if (desired === "stopped" && container.status !== "dead") {
    return isUp(container.status)
      ? { step: { kind: "stop", containerIds: [container.id] }, reason: "it was started though it is to stay stopped" }
      : undefined;
  }
  switch (container.status) {
    case "created":
      return { step: { kind: "start", spec, containerId: container.id }, reason: "its container was never started" };
    case "exited":
      if (staysExited(spec.restart_policy, container.exitCode)) return undefined;
      return { step: { kind: "start", spec, containerId: container.id }, reason: "its container was stopped" };
    case "dead":
      return {
        step: { kind: "clean", containerIds: [container.id] },
        reason: "the engine could not remove its container",
      };
    case "running":
    case "restarting":
    case "paused":
    case "removing":
    case "unknown":
      return undefined;
  }
}

const MIN_DELAY_MS = 15_000;
const MAX_DELAY_MS = 600_000;

/** Pause before the next try to repair the same app after `failures` tries in a row that did not hold, in milliseconds. */
export function repairDelay(failures: number): number {
  return failures === 0 ? 0 : Math.min(MAX_DELAY_MS, MIN_DELAY_MS * 2 ** Math.min(failures - 1, 20));
}
