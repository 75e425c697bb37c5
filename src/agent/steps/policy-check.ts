import type { AppSpec } from "../../protocol/app-spec.ts";
import { normalizePath } from "../../protocol/normalize-path.ts";
import type { PolicyViolation } from "../core/policy/device-policy.ts";
import type { AppRecord, DeploymentRecord, Failure } from "../core/deployment/record.ts";
import { type PolicyCheckPhase, restrictsDevices, restrictsMounts } from "../core/policy/mount-rules.ts";
import { containerIdOf, type MountEntry } from "../core/host/mountinfo.ts";
import type { AppPaths, ProtectedPath, PathPolicyInput } from "../core/policy/path-policy-input.ts";
import type { ResolvedPath } from "../core/policy/resolved-path.ts";
import { findPolicyViolation } from "../core/policy/policy.ts";
import type { Host } from "../host/host.ts";
import type { DeployServices, StepContext } from "./context.ts";

/** What it takes to hold an app against the policy. */
export interface PolicyServices extends Pick<DeployServices, "config" | "dataRoot"> {
  readonly engine: Pick<DeployServices["engine"], "readContainerConfig">;
  readonly host: Pick<Host, "resolvePath" | "readMounts">;
  readonly store: Pick<DeployServices["store"], "apps" | "deployments">;
}

/** The machine and the store as they are now, for holding several apps against the policy: each thing is looked at once. */
export function snapshotServices({ engine, host, store, config, dataRoot }: PolicyServices): PolicyServices {
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
    dataRoot: (signal) => once("data root", () => dataRoot(signal)),
  };
}

/** What the app is held against the policy for. */
export interface PolicyCheckOptions {
  readonly phase: PolicyCheckPhase;
  /** Order of the deployment that asks; deployments accepted later have to fit in with it. */
  readonly order: number;
}

/** The first rule of the policy in force that the app breaks, as the machine is now. */
export async function findAppPolicyViolation(
  services: PolicyServices,
  spec: AppSpec,
  judged: PolicyCheckOptions,
  signal: AbortSignal,
): Promise<PolicyViolation | undefined> {
  const { config } = services;
  const facts = await resolvePaths(services, spec, judged, signal);
  return findPolicyViolation(spec, config.policy, facts, judged.phase);
}

/** Why a container of the app may not be started now. Precondition: what it takes the place of does not run any more. */
export async function findStartRefusal(
  context: StepContext,
  spec: AppSpec,
  step: Failure["step"],
): Promise<Failure | undefined> {
  const judged: PolicyCheckOptions = { phase: "run", order: context.record.order };
  const found = await findAppPolicyViolation(context, spec, judged, context.signal);
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
  const hasVolumes = spec.volumes.length > 0 && (phase === "request" || restrictsMounts(policy));
  const hasDevices = (spec.devices ?? []).length > 0 && policy.devices !== undefined;
  if (!hasVolumes && !hasDevices) return NO_PATHS;
  const isRestricted = restrictsMounts(policy) || restrictsDevices(policy);
  const guarded = isRestricted ? await addEngineDataPath(services, signal) : config.protectedPaths;
  const entries = [...guarded.map(({ path }) => path), ...policy.mounts.deny, ...(policy.devices?.deny ?? [])];
  const [own, traces, mounts] = await Promise.all([
    resolveAppPaths("", spec, host),
    Promise.all(entries.map((entry) => host.resolvePath(entry))),
    isRestricted ? host.readMounts() : [],
  ]);
  const shared = isRestricted ? await findSharedPaths(services, mounts, signal) : undefined;
  // Asked last: what an earlier deployment came to meanwhile is known then.
  const claims = isRestricted ? listOtherSpecs(store, spec.name, phase, order) : [];
  const others = await Promise.all(claims.map((other) => resolveAppPaths(other.name, other, host)));
  const leadsTo = new Map(traces.map((trace): [string, ResolvedPath] => [trace.written, trace]));
  const volumes = own.volumes.map(({ resolved }) => resolved);
  return {
    volumes,
    devices: own.devices,
    otherApps: others,
    protectedPaths: guarded,
    resolvedRules: leadsTo,
    mounts,
    sharedPaths: shared,
  };
}

/** Where the engine keeps its data, too, which may be anywhere. */
async function addEngineDataPath({ config, dataRoot }: PolicyServices, signal: AbortSignal): Promise<ProtectedPath[]> {
  return [...config.protectedPaths, { path: normalizePath(await dataRoot(signal)), when: "restricted" }];
}

async function resolveAppPaths(app: string, spec: AppSpec, host: Pick<Host, "resolvePath">): Promise<AppPaths> {
  const [volumes, devices] = await Promise.all([
    Promise.all(
      spec.volumes.map(async ({ local, readonly }) => ({ resolved: await host.resolvePath(local), readonly })),
    ),
    Promise.all((spec.devices ?? []).map(({ local }) => host.resolvePath(local))),
  ]);
  return { app, volumes, devices };
}

/**
 * Specifications of other apps that run, may be started, or may be put back as they were. Of deployments that are going
 * on, those that were accepted before; and of those that come after, the ones that passed their check, which took this
 * app into account.
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
  const going = store.deployments().filter((record) => record.app !== app);
  return [
    ...store
      .apps()
      .filter(isOther)
      .map(({ spec }) => spec),
    ...going.filter(counts).flatMap(({ spec }) => spec ?? []),
    // A change is taken back as long as its end was not acknowledged.
    ...going.flatMap(({ previous, outcome }) => (previous && outcome !== "failed" ? [previous.spec] : [])),
  ];
}

/**
 * Where the agent runs in a container of the engine it uses: the paths that are the same in there as on the device.
 * `undefined` where it runs on the device itself.
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
