import type { AppSpec } from "../../protocol/app-spec.ts";
import { normalizePath } from "../../protocol/normalize-path.ts";
import type { PolicyViolation } from "../core/device-policy.ts";
import type { AppRecord, DeploymentRecord, Failure } from "../core/deployment.ts";
import { type Occasion, restrictsDevices, restrictsMounts } from "../core/mount-rules.ts";
import { containerIdOf, type MountEntry } from "../core/mountinfo.ts";
import type { AppPaths, GuardedPath, PathFacts } from "../core/path-facts.ts";
import type { PathTrace } from "../core/path-trace.ts";
import { violation } from "../core/policy.ts";
import type { Host } from "../host/host.ts";
import type { DeployServices, StepContext } from "./context.ts";

/** What it takes to hold an app against the policy. */
export interface PolicyServices extends Pick<DeployServices, "config" | "dataRoot"> {
  readonly engine: Pick<DeployServices["engine"], "describeContainer">;
  readonly host: Pick<Host, "trace" | "mounts">;
  readonly store: Pick<DeployServices["store"], "apps" | "deployments">;
}

/** The machine and the store as they are now, for holding several apps against the policy: each thing is looked at once. */
export function snapshot({ engine, host, store, config, dataRoot }: PolicyServices): PolicyServices {
  const known = new Map<string, unknown>();
  const once = <T>(key: string, read: () => T): T => {
    if (!known.has(key)) known.set(key, read());
    return known.get(key) as T;
  };
  return {
    engine: {
      describeContainer: (id, signal) => once(`container ${id}`, () => engine.describeContainer(id, signal)),
    },
    host: {
      trace: (path) => once(`path ${path}`, () => host.trace(path)),
      mounts: () => once("mounts", () => host.mounts()),
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
export interface Judged {
  readonly occasion: Occasion;
  /** Order of the deployment that asks; deployments accepted later have to fit in with it. */
  readonly order: number;
}

/** The first rule of the policy in force that the app breaks, as the machine is now. */
export async function findViolation(
  services: PolicyServices,
  spec: AppSpec,
  judged: Judged,
  signal: AbortSignal,
): Promise<PolicyViolation | undefined> {
  const { config } = services;
  const facts = await lookAtPaths(services, spec, judged, signal);
  return violation(spec, config.policy, facts, judged.occasion);
}

/** Why a container of the app may not be started now. Precondition: what it takes the place of does not run any more. */
export async function refuseStart(
  context: StepContext,
  spec: AppSpec,
  step: Failure["step"],
): Promise<Failure | undefined> {
  const judged: Judged = { occasion: "run", order: context.record.order };
  const found = await findViolation(context, spec, judged, context.signal);
  return found && { code: "PolicyDenied", message: found.message, step, details: { rule: found.rule } };
}

const NOTHING_TO_SEE: PathFacts = {
  volumes: [],
  devices: [],
  others: [],
  guarded: [],
  leadsTo: new Map(),
  mounts: [],
  shared: undefined,
};

async function lookAtPaths(
  services: PolicyServices,
  spec: AppSpec,
  { occasion, order }: Judged,
  signal: AbortSignal,
): Promise<PathFacts> {
  const { host, config, store } = services;
  const { policy } = config;
  const hasVolumes = spec.volumes.length > 0 && (occasion === "request" || restrictsMounts(policy));
  const hasDevices = (spec.devices ?? []).length > 0 && policy.devices !== undefined;
  if (!hasVolumes && !hasDevices) return NOTHING_TO_SEE;
  const isRestricted = restrictsMounts(policy) || restrictsDevices(policy);
  const guarded = isRestricted ? await withEngineData(services, signal) : config.guardedPaths;
  const entries = [...guarded.map(({ path }) => path), ...policy.mounts.deny, ...(policy.devices?.deny ?? [])];
  const [own, traces, mounts] = await Promise.all([
    tracesOf("", spec, host),
    Promise.all(entries.map((entry) => host.trace(entry))),
    isRestricted ? host.mounts() : [],
  ]);
  const shared = isRestricted ? await sharedPaths(services, mounts, signal) : undefined;
  // Asked last: what an earlier deployment came to meanwhile is known then.
  const claims = isRestricted ? othersOf(store, spec.name, occasion, order) : [];
  const others = await Promise.all(claims.map((other) => tracesOf(other.name, other, host)));
  const leadsTo = new Map(traces.map((trace): [string, PathTrace] => [trace.written, trace]));
  const volumes = own.volumes.map(({ trace }) => trace);
  return { volumes, devices: own.devices, others, guarded, leadsTo, mounts, shared };
}

/** Where the engine keeps its data, too, which may be anywhere. */
async function withEngineData({ config, dataRoot }: PolicyServices, signal: AbortSignal): Promise<GuardedPath[]> {
  return [...config.guardedPaths, { path: normalizePath(await dataRoot(signal)), when: "restricted" }];
}

async function tracesOf(app: string, spec: AppSpec, host: Pick<Host, "trace">): Promise<AppPaths> {
  const [volumes, devices] = await Promise.all([
    Promise.all(spec.volumes.map(async ({ local, readonly }) => ({ trace: await host.trace(local), readonly }))),
    Promise.all((spec.devices ?? []).map(({ local }) => host.trace(local))),
  ]);
  return { app, volumes, devices };
}

/**
 * Specifications of other apps that run, may be started, or may be put back as they were. Of deployments that are going
 * on, those that were accepted before; and of those that come after, the ones that passed their check, which took this
 * app into account.
 */
function othersOf(store: PolicyServices["store"], app: string, occasion: Occasion, order: number): AppSpec[] {
  const isOther = ({ name }: AppRecord): boolean => name !== app;
  const counts = (record: DeploymentRecord): boolean =>
    record.outcome === "pending" &&
    !record.options.dry_run &&
    (record.order < order || (occasion === "run" && record.checked));
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
async function sharedPaths(
  { engine }: PolicyServices,
  mounts: readonly MountEntry[],
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  const id = containerIdOf(mounts);
  const own = id === undefined ? undefined : await engine.describeContainer(id, signal);
  return own?.volumes.filter(({ local, target }) => normalizePath(local) === normalizePath(target)).map((v) => v.local);
}
