import { networkOwner } from "../../protocol/apps/app-network.ts";
import type { AppSpec } from "../../protocol/apps/app-spec.ts";
import { isUp } from "../core/app/container-decision.ts";
import { LABELS } from "../core/app/container.ts";
import type { AppRecord, Failure } from "../core/records.ts";
import type { ContainerSummary } from "../engine/engine.ts";
import { findNetworkContainer } from "../engine/managed-containers.ts";
import type { ContainerStepContext } from "./context.ts";
import type { NetworkContext, PreparedNetworks } from "./networks.ts";

/*
 * The network that an app has of another one.
 */

/** Whether an app has the network of another one. */
export function hasOwner({ spec }: Pick<AppRecord, "spec">): boolean {
  return networkOwner(spec) !== undefined;
}

/** Returns what a container is created with that has the network of another app's. */
export async function shareNetwork(
  { engine, config, signal }: NetworkContext,
  owner: string,
  step: Failure["step"],
): Promise<PreparedNetworks> {
  const found = findNetworkContainer(owner, await engine.listContainers(signal), config.stateDir);
  if (found) return { request: { network: { container: found.id } }, further: [], events: [] };
  return { request: {}, further: [], events: [], failure: ownerFailure(owner, "has no container", step) };
}

function ownerFailure(owner: string, state: string, step: Failure["step"]): Failure {
  const message = `The app ${owner}, whose network this app has, ${state}. Start that one first.`;
  return { code: "InvalidRequest", step, message, details: { app: owner } };
}

/** Returns why an app cannot be started that has the network of another one: that one does not run. */
export async function findOwnerDown(context: NetworkContext, spec: AppSpec): Promise<Failure | undefined> {
  const owner = networkOwner(spec);
  if (owner === undefined) return undefined;
  const { engine, config, signal } = context;
  const found = findNetworkContainer(owner, await engine.listContainers(signal), config.stateDir);
  return found?.status === "running" ? undefined : ownerFailure(owner, "does not run", "starting");
}

interface CutOffContext extends Pick<ContainerStepContext, "engine" | "config" | "signal"> {
  readonly lease: (app: string) => Disposable | undefined;
}

/** Whether the network that a container has of another app's is gone. A change of that app is waited for. */
export async function isCutOff(
  { spec }: AppRecord,
  { id, status, labels }: ContainerSummary,
  all: readonly ContainerSummary[],
  { engine, config, lease, signal }: CutOffContext,
): Promise<boolean> {
  const owner = networkOwner(spec);
  if (owner === undefined) return false;
  using ownerLease = lease(owner);
  const current = ownerLease && findNetworkContainer(owner, all, config.stateDir);
  if (!current) return false;
  if (labels[LABELS.networkOf] !== current.id) return true;
  if (!isUp(status) || current.status !== "running") return false;
  const [own, other] = await Promise.all([id, current.id].map((one) => engine.inspectContainer(one, signal)));
  // An engine takes the network away with the end of a run, and gives the next run another one.
  return own !== undefined && other !== undefined && Date.parse(other.startedAt) > Date.parse(own.startedAt);
}
