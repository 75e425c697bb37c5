import { networkOwner } from "../../protocol/apps/app-network.ts";
import type { AppSpec } from "../../protocol/apps/app-spec.ts";
import type { EventContent } from "../../protocol/deployments/deployment-event.ts";
import { KeyedLock } from "../../lib/keyed-lock.ts";
import { LABELS } from "../core/app/container.ts";
import { type AppNetwork, NETWORK_LABEL, networksOf } from "../core/app/networks.ts";
import type { Failure } from "../core/records.ts";
import { runningEvent } from "../core/deployment/step-events.ts";
import { EngineError } from "../engine/engine-error.ts";
import type { ContainerRequest, NetworkState } from "../engine/engine.ts";
import type { ContainerStepContext, StepResult } from "./context.ts";
import { enginePrefix } from "../engine/engine-prefix.ts";
import { shareNetwork } from "./shared-network.ts";

export type NetworkContext = Pick<ContainerStepContext, "engine" | "config" | "signal">;

/** Engines do not keep two calls from making two networks of one name. */
const lock = new KeyedLock();

export interface PreparedNetworks {
  /** For the container's creation. */
  readonly request: Pick<ContainerRequest, "network">;
  /** Names of those that a creation has no room for. */
  readonly further: readonly string[];
  readonly events: readonly EventContent[];
  readonly failure?: Failure;
}

/** Makes the networks of an app that do not exist yet. */
export async function prepareNetworks(
  context: NetworkContext,
  spec: AppSpec,
  step: Failure["step"],
): Promise<PreparedNetworks> {
  if (spec.network === "none") return { request: { network: "none" }, further: [], events: [] };
  const owner = networkOwner(spec);
  if (owner !== undefined) return await shareNetwork(context, owner, step);
  const wanted = wantedNetworks(context, spec);
  const events: EventContent[] = [];
  const missing = await externalNetworkFailure(context, spec, step);
  if (missing) return { request: {}, further: [], events, failure: missing };
  for (const [index, network] of wanted.entries()) {
    if (network.isExternal) continue;
    const state = await ensureNetwork(context, network);
    if (!isOwn(state, context)) return { request: {}, further: [], events, failure: foreignNetwork(network, step) };
    if (index === 0 && !state.resolvesNames) events.push(runningEvent(step, NO_NAMES));
  }
  const [first, ...others] = wanted;
  const further = others.map(({ name }) => name);
  return { request: first ? { network: { name: first.name, aliases: namesOf(spec) } } : {}, further, events };
}

/** Returns why an app cannot be on a network that the agent does not make. */
export async function externalNetworkFailure(
  context: NetworkContext,
  spec: AppSpec,
  step: Failure["step"],
): Promise<Failure | undefined> {
  const { engine, signal } = context;
  const wanted = wantedNetworks(context, spec).filter(({ isExternal }) => isExternal);
  for (const { name } of wanted) {
    const found = await engine.networks.inspect(name, signal);
    if (!found) return missingNetwork(name, step);
    // Of this agent or of another one.
    if (found.labels[LABELS.stateDir] === undefined) continue;
    const message = `The engine's network ${name} belongs to an edge-agent: apps have it by the name that they give it in \`networks\`.`;
    return { code: "PolicyDenied", message, step, details: { network: name } };
  }
  return undefined;
}

function missingNetwork(name: string, step: Failure["step"]): Failure {
  const message =
    `The engine has no network named ${name}, and the agent does not make it. On the device: docker network create ${name}, or ` +
    "podman. Or leave it out of `external_networks`, for one that the agent makes for all apps that name it.";
  return { code: "InvalidRequest", message, step, details: { network: name } };
}

const NO_NAMES =
  "This device's Podman has no name service: apps do not find each other by name. It needs netavark and aardvark-dns; see: edge-agent doctor.";

/**
 * Puts a container on those networks that a creation has no room for: engines take one. Safe to repeat. Precondition: the
 * networks exist.
 */
export async function joinFurtherNetworks(context: NetworkContext, spec: AppSpec, containerId: string): Promise<void> {
  const [, ...further] = wantedNetworks(context, spec);
  for (const { name } of further) await connect(context, name, spec, containerId);
}

/**
 * Puts a container on networks that it is not on. It may run. Precondition: it can join networks, and its app is to be on
 * these.
 */
export async function runConnect(
  context: ContainerStepContext,
  {
    spec,
    containerId,
    networks,
  }: { readonly spec: AppSpec; readonly containerId: string; readonly networks: readonly string[] },
): Promise<StepResult> {
  const { failure, events } = await prepareNetworks(context, spec, "starting");
  if (failure) return { failure };
  for (const name of networks) await connect(context, name, spec, containerId);
  return { events };
}

/**
 * Puts a container that does not run on all its networks anew: they were removed behind it, and the engine keeps it bound
 * to what they were.
 */
export async function rejoinNetworks(
  context: NetworkContext,
  spec: AppSpec,
  containerId: string,
): Promise<Failure | undefined> {
  const { engine, signal } = context;
  const { failure } = await prepareNetworks(context, spec, "starting");
  if (failure) return failure;
  for (const { name } of wantedNetworks(context, spec)) {
    await engine.networks.disconnect(name, containerId, signal);
    await connect(context, name, spec, containerId);
  }
  return undefined;
}

/**
 * Removes the agent's networks that no app is on any more. Errors of the engine are ignored: what is left is removed by the
 * reconciler. Returns whether there was none.
 *
 * @param removedApp an installed app that is being removed
 */
export async function releaseNetworks(context: ReleaseContext, removedApp?: string): Promise<boolean> {
  const { engine, config, signal } = context;
  try {
    for (const { name } of await engine.networks.list(`${LABELS.stateDir}=${config.stateDir}`, signal)) {
      using _lease = await lock.acquire(name, signal);
      // Read anew for each: another deployment may have been accepted meanwhile.
      if (!namesInUse(context, removedApp).has(name)) await engine.networks.remove(name, signal);
    }
    return true;
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    return false;
  }
}

/** Without a `deploymentId`, the networks of every deployment that is going on stay. */
type ReleaseContext = NetworkContext &
  Pick<ContainerStepContext, "store"> &
  Partial<Pick<ContainerStepContext, "deploymentId">>;

/** Returns the networks of installed apps and of other deployments that are going on. */
function namesInUse({ store, config, deploymentId }: ReleaseContext, removedApp: string | undefined): Set<string> {
  const installed = store.apps().filter(({ name }) => name !== removedApp);
  const others = store.deployments().filter(({ id, outcome }) => id !== deploymentId && outcome === "pending");
  const specs = [
    ...installed.map(({ spec }) => spec),
    ...others.flatMap(({ spec, previous }) => [spec, previous?.spec]),
  ].filter((spec) => spec !== undefined);
  return new Set(specs.flatMap((spec) => networksOf(spec, enginePrefix(config.stateDir))).map(({ name }) => name));
}

function wantedNetworks({ config }: Pick<NetworkContext, "config">, spec: AppSpec): readonly AppNetwork[] {
  return networksOf(spec, enginePrefix(config.stateDir));
}

async function ensureNetwork(context: NetworkContext, network: AppNetwork): Promise<NetworkState> {
  const { engine, signal } = context;
  const { name } = network;
  using _lease = await lock.acquire(name, signal);
  const found = await engine.networks.inspect(name, signal);
  if (found) return found;
  await create(context, network);
  const made = await engine.networks.inspect(name, signal);
  if (!made) throw new EngineError("network_missing", `network ${name} is not there after it was made`);
  return made;
}

/** Takes the first of the configured subnets that is free. */
async function create({ engine, config, signal }: NetworkContext, network: AppNetwork): Promise<void> {
  const { name, isInternal } = network;
  const labels = { [LABELS.stateDir]: config.stateDir, [NETWORK_LABEL]: network.network };
  const [...subnets] = config.networkSubnets;
  for (;;) {
    const subnet = subnets.shift();
    try {
      return await engine.networks.create({ name, labels, subnet, ...(isInternal && { isInternal }) }, signal);
    } catch (error) {
      const isTaken = error instanceof EngineError && error.kind === "no_addresses";
      if (!isTaken || subnets.length === 0) throw error;
    }
  }
}

async function connect(context: NetworkContext, network: string, spec: AppSpec, containerId: string): Promise<void> {
  const { engine, signal } = context;
  await engine.networks.connect(network, { containerId, aliases: namesOf(spec) }, signal);
}

function namesOf({ name, aliases = [] }: AppSpec): string[] {
  return [name, ...aliases];
}

function isOwn({ labels }: NetworkState, { config }: Pick<NetworkContext, "config">): boolean {
  return labels[LABELS.stateDir] === config.stateDir;
}

function foreignNetwork({ name }: AppNetwork, step: Failure["step"]): Failure {
  return {
    code: "ErrorNameExists",
    message: `The container engine has a network named ${name} that edge-agent did not make.`,
    step,
    details: { network: name },
  };
}
