import type { AppRecord } from "../records.ts";
import { hasLeftoverName, hasTemporaryName } from "../app/container.ts";
import { type AppNetwork, missingNetworks } from "../app/networks.ts";
import { decisionOn, isLeftover } from "../app/container-decision.ts";
import type { ContainerStatus } from "../app/container-status.ts";
import { recreateStep } from "./plan-lifecycle.ts";
import { type EndedRun, type RestartPolicy, staysExited } from "../app/restart-policy.ts";
import type { Step } from "./step.ts";

/** A container of an installed app, as the engine reports it. */
export interface AppContainer {
  readonly id: string;
  readonly name: string;
  readonly status: ContainerStatus;
  /** How its last run ended; only read if the restart policy depends on it. */
  readonly lastRun?: EndedRun | undefined;
  /** Whether it has the network of another app's container that is not there any more, or has been started anew since. */
  readonly isCutOff?: boolean;
  /** Names of the networks it is on; absent if it can join none. */
  readonly networks?: readonly string[] | undefined;
}

/** One correction of an app, with its reason for log and history. */
export interface Repair {
  readonly step: Extract<Step, { kind: "create" | "start" | "stop" | "rename" | "clean" | "connect" }>;
  readonly reason: string;
}

/**
 * Returns the next repair of an app, or `undefined` if it is as desired: see `decisionOn`. An app that was stopped through
 * the agent stays stopped, and one whose restart policy lets it end is left alone after it has ended. Containers that
 * cannot be removed and have been set aside count as gone.
 *
 * @param networks those its container is to be on: one can be taken away by hand
 */
export function nextRepair(
  app: AppRecord,
  containers: readonly AppContainer[],
  networks: readonly AppNetwork[] = [],
): Repair | undefined {
  const { spec, desired } = app;
  const inTheWay = containers.find(({ name, status }) => isLeftover(status) && !hasLeftoverName(name, app.name));
  if (inTheWay) {
    return {
      step: { kind: "clean", containerIds: [inTheWay.id] },
      reason: "the engine could not remove its container",
    };
  }
  const [container, ...surplus] = containers.filter(({ status }) => !isLeftover(status));
  // It may have ended, and its container may have been removed since.
  if (!container && (desired === "stopped" || spec.restart_policy === "no")) return undefined;
  if (!container) return { step: recreateStep(app), reason: "its container was removed" };
  if (surplus.length > 0) {
    return {
      step: { kind: "clean", containerIds: surplus.map(({ id }) => id) },
      reason: "it had more than one container",
    };
  }
  if (hasTemporaryName(container.name, app.name)) {
    return {
      step: { kind: "rename", app: app.name, containerId: container.id },
      reason: "its container had another name",
    };
  }
  const { isUp, whenToRun, whenToStop } = decisionOn(container.status);
  if (desired === "stopped") {
    return whenToStop === "stop"
      ? { step: { kind: "stop", containerIds: [container.id] }, reason: "it was started though it is to stay stopped" }
      : undefined;
  }
  if (container.isCutOff && mayStartAnew(spec.restart_policy, container)) {
    const step = { kind: "clean", containerIds: [container.id], isGentle: true } as const;
    return { step, reason: "the app whose network it has was started anew" };
  }
  if (whenToRun === "start") {
    const wasStarted = container.status !== "created";
    if (wasStarted && staysExited(spec.restart_policy, container.lastRun)) return undefined;
    const reason = wasStarted ? "its container was stopped" : "its container was never started";
    return { step: { kind: "start", spec, containerId: container.id }, reason };
  }
  return isUp ? connectRepair(app, container, networks) : undefined;
}

/** Whether an app gets another container: one that may not run again goes on, or stays down. */
function mayStartAnew(policy: RestartPolicy | undefined, { status, lastRun }: AppContainer): boolean {
  if (status === "created") return true;
  return decisionOn(status).isUp ? policy !== "no" : !staysExited(policy, lastRun);
}

function connectRepair(
  { spec }: AppRecord,
  { id: containerId, networks: attached }: AppContainer,
  wanted: readonly AppNetwork[],
): Repair | undefined {
  const networks = missingNetworks(wanted, attached);
  if (networks.length === 0) return undefined;
  return { step: { kind: "connect", spec, containerId, networks }, reason: "it was not on the network of its apps" };
}

const MIN_DELAY_MS = 15_000;
const MAX_DELAY_MS = 600_000;

/**
 * Returns the delay before the next repair of the same app, in milliseconds.
 *
 * @param failures number of consecutive repairs that failed or did not last
 */
export function repairDelay(failures: number): number {
  return failures === 0 ? 0 : Math.min(MAX_DELAY_MS, MIN_DELAY_MS * 2 ** Math.min(failures - 1, 20));
}
