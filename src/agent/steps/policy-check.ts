import { networkOwner } from "../../protocol/apps/app-network.ts";
import type { AppSpec } from "../../protocol/apps/app-spec.ts";
import { normalizePath } from "../../protocol/values/normalize-path.ts";
import { bindsOf } from "../../protocol/apps/volume-fields.ts";
import type { PolicyViolation } from "../core/policy/device-policy.ts";
import type { AppRecord, DeploymentRecord, Failure } from "../core/records.ts";
import { type PolicyCheckPhase, listsDevices, restrictsMounts } from "../core/policy/mount-rules.ts";
import { containerIdOf, type MountEntry } from "../core/policy/mountinfo.ts";
import type { AppPaths, ProtectedPath, PathPolicyInput } from "../core/policy/path-policy-input.ts";
import type { ResolvedPath } from "../core/policy/resolved-path.ts";
import { findPolicyViolation } from "../core/policy/policy.ts";
import type { EngineInfo } from "../engine/engine.ts";
import type { Host } from "../host/host.ts";
import type { ContainerStepContext, DeployServices } from "./context.ts";

/** What a policy check uses. */
export interface PolicyServices extends Pick<DeployServices, "config"> {
  readonly engineInfo: (signal: AbortSignal) => Promise<Pick<EngineInfo, "dataRoot">>;
  readonly engine: Pick<DeployServices["engine"], "readContainerConfig">;
  readonly host: Pick<Host, "resolvePath" | "readMounts">;
  readonly store: Pick<DeployServices["store"], "apps" | "deployments">;
}

/** Returns services that read each path, container and table once, for checking several apps against the policy. */
export function snapshotServices({ engine, host, store, config, engineInfo }: PolicyServices): PolicyServices {
  const known = new Map<string, unknown>();
  const once = <T>(key: string, read: () => T): T => {
    if (!known.has(key)) known.set(key, read());
    return known.get(key) as T;
  };
  return {
    engine: {
      readContainerConfig: (id, signal) => once(`container ${id}`, () => engine.readContainerConfig(id, signal)),
    },
    host: {
      resolvePath: (path) => once(`path ${path}`, () => host.resolvePath(path)),
      readMounts: () => once("mounts", () => host.readMounts()),
    },
    store: {
      apps: () => once("apps", () => store.apps()),
      deployments: () => once("deployments", () => store.deployments()),
    },
    config,
    engineInfo: (signal) => once("engine", () => engineInfo(signal)),
  };
}

/** For what the app is checked against the policy. */
export interface PolicyCheckOptions {
  readonly phase: PolicyCheckPhase;
  /** Order of the deployment that asks. Later deployments have to respect its paths, not the reverse. */
  readonly order: number;
}

/** Order of an app that is installed: before every deployment. */
export const INSTALLED_ORDER = 0;

/** Returns the first rule of the current policy that the app violates in the current state of the device. */
export async function findAppPolicyViolation(
  services: PolicyServices,
  spec: AppSpec,
  options: PolicyCheckOptions,
  signal: AbortSignal,
): Promise<PolicyViolation | undefined> {
  const { config } = services;
  const facts = await resolvePaths(services, spec, options, signal);
  // What it may do follows from the network that it has.
  const host_network = spec.host_network || isOnHostNetworkOf(networkOwner(spec), services.store);
  return findPolicyViolation({ ...spec, host_network }, config.policy, facts, options.phase);
}

/** Whether an app, as it is or as a deployment makes it, is on the host's network. */
function isOnHostNetworkOf(app: string | undefined, store: PolicyServices["store"]): boolean {
  if (app === undefined) return false;
  const specs = [...store.apps(), ...store.deployments().filter(({ outcome }) => outcome === "pending")];
  return specs.some(({ spec }) => spec?.name === app && spec.host_network);
}

/** Returns why a container of the app may not be started now. Precondition: the container it replaces is stopped. */
export async function findStartRefusal(
  context: PolicyServices & Pick<ContainerStepContext, "order" | "signal">,
  spec: AppSpec,
  step: Failure["step"],
): Promise<Failure | undefined> {
  const options: PolicyCheckOptions = { phase: "run", order: context.order };
  const found = await findAppPolicyViolation(context, spec, options, context.signal);
  return found && { code: "PolicyDenied", message: found.message, step, details: { rule: found.rule } };
}

const NO_PATHS: PathPolicyInput = {
  volumes: [],
  devices: [],
  otherApps: [],
  protectedPaths: [],
  resolvedRules: new Map(),
  mounts: [],
  sharedPaths: undefined,
};

async function resolvePaths(
  services: PolicyServices,
  spec: AppSpec,
  { phase, order }: PolicyCheckOptions,
  signal: AbortSignal,
): Promise<PathPolicyInput> {
  const { host, config, store } = services;
  const { policy } = config;
  const hasVolumes = bindsOf(spec).length > 0 && (phase === "request" || restrictsMounts(policy));
  const hasDevices = (spec.devices ?? []).length > 0 && policy.devices !== undefined;
  if (!hasVolumes && !hasDevices) return NO_PATHS;
  const isRestricted = restrictsMounts(policy) || listsDevices(policy);
  const protectedPaths = isRestricted ? await addEngineDataPath(services, signal) : config.protectedPaths;
  const entries = [...protectedPaths.map(({ path }) => path), ...policy.mounts.deny, ...(policy.devices?.deny ?? [])];
  const [own, resolvedEntries, mounts] = await Promise.all([
    resolveAppPaths("", spec, host),
    Promise.all(entries.map((entry) => host.resolvePath(entry))),
    isRestricted ? host.readMounts() : [],
  ]);
  const sharedPaths = isRestricted ? await findSharedPaths(services, mounts, signal) : undefined;
  // Read last, to include what an earlier deployment has stored meanwhile.
  const otherSpecs = isRestricted ? listOtherSpecs(store, spec.name, phase, order) : [];
  const otherApps = await Promise.all(otherSpecs.map((other) => resolveAppPaths(other.name, other, host)));
  const resolvedRules = new Map(resolvedEntries.map((path): [string, ResolvedPath] => [path.written, path]));
  return {
    volumes: own.volumes,
    devices: own.devices,
    otherApps,
    protectedPaths,
    resolvedRules,
    mounts,
    sharedPaths,
  };
}

/** Returns the protected paths with the engine's data directory, which is configurable. */
async function addEngineDataPath(
  { config, engineInfo }: PolicyServices,
  signal: AbortSignal,
): Promise<ProtectedPath[]> {
  const { dataRoot } = await engineInfo(signal);
  return [...config.protectedPaths, { path: normalizePath(dataRoot), when: "restricted" }];
}

async function resolveAppPaths(app: string, spec: AppSpec, host: Pick<Host, "resolvePath">): Promise<AppPaths> {
  const [volumes, devices] = await Promise.all([
    Promise.all(
      bindsOf(spec).map(async ({ local, readonly }) => ({ resolved: await host.resolvePath(local), readonly })),
    ),
    Promise.all((spec.devices ?? []).map(({ local }) => host.resolvePath(local))),
  ]);
  return { app, volumes, devices };
}

/**
 * Returns the specifications of other apps that run, may be started, or may be restored. Of the pending deployments,
 * these are the earlier ones; and, when a container is to be started, the later ones that passed their check, which
 * included this app.
 */
function listOtherSpecs(
  store: PolicyServices["store"],
  app: string,
  phase: PolicyCheckPhase,
  order: number,
): AppSpec[] {
  const isOther = ({ name }: AppRecord): boolean => name !== app;
  const counts = (record: DeploymentRecord): boolean =>
    record.outcome === "pending" &&
    !record.options.dry_run &&
    (record.order < order || (phase === "run" && record.checked));
  const deployments = store.deployments().filter((record) => record.app !== app);
  return [
    ...store
      .apps()
      .filter(isOther)
      .map(({ spec }) => spec),
    ...deployments.filter(counts).flatMap(({ spec }) => spec ?? []),
    // A change may be rolled back until its final event is acknowledged.
    ...deployments.flatMap(({ previous, outcome }) => (previous && outcome !== "failed" ? [previous.spec] : [])),
  ];
}

/**
 * Returns the paths that are the same in the agent's container and on the device, if the agent runs in a container of
 * the engine it uses. `undefined` if it runs on the device itself.
 */
async function findSharedPaths(
  { engine }: PolicyServices,
  mounts: readonly MountEntry[],
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  const id = containerIdOf(mounts);
  const own = id === undefined ? undefined : await engine.readContainerConfig(id, signal);
  return own?.volumes.filter(({ local, target }) => normalizePath(local) === normalizePath(target)).map((v) => v.local);
}
