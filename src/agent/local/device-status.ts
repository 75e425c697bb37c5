import { type Clock, deadline } from "../../lib/clock.ts";
import { errorText } from "../../lib/error-text.ts";
import { foreignText } from "../core/app/app-changes.ts";
import { appState } from "../core/app/app-state.ts";
import { type HeldWork, heldText } from "../core/service/crash-loop.ts";
import { failedDiskText, findFailedDisk } from "../core/host/disk-fault.ts";
import type { MountEntry } from "../core/policy/mountinfo.ts";
import type { AppRecord } from "../core/records.ts";
import type { Engine, EngineInfo } from "../engine/engine.ts";
import type { Host } from "../host/host.ts";
import { findMissingDevices } from "../host/host.ts";
import { findAppContainer } from "../apps/find-app-container.ts";
import { pendingDeployments } from "../store/pending-deployments.ts";
import type { StoreReader } from "../store/store.ts";
import type { AppSummary, DeviceStatus, EngineResponse } from "./api.ts";

/** After this time the status is returned without the engine's values. */
const ENGINE_TIMEOUT_MS = 2_000;

export interface DeviceStatusSources {
  readonly engine: Engine;
  readonly host: Host;
  readonly store: StoreReader;
  readonly clock: Clock;
  readonly engineInfo: (signal: AbortSignal) => Promise<Pick<EngineInfo, "dataRoot">>;
  /** Bytes. */
  readonly diskReserveBytes: number;
  /** What the daemon knows; absent without one. */
  readonly daemon?: DaemonKnowledge | undefined;
}

/** What only the running daemon knows of the apps. */
export interface DaemonKnowledge {
  /** Whether a deployment works on the app. */
  readonly isBusy: (app: string) => boolean;
  /** Why an app that does not run is not brought back yet. */
  readonly heldFor: (app: string) => HeldWork | undefined;
  /** Why an app could not be brought back when that was tried last. */
  readonly repairFailure: (app: string) => string | undefined;
  /** Returns a function that describes the policy rule an app violates, judged by the current state of the machine. */
  readonly createPolicyCheck: () => PolicyCheck;
}

type PolicyCheck = (app: AppRecord, signal: AbortSignal) => Promise<string | undefined>;

/**
 * Reads the status of engine, disk, apps and pending deployments. Errors of the engine are part of the status. Rejects
 * with the signal's reason, or with a `StoreError`.
 */
export async function readDeviceStatus(sources: DeviceStatusSources, signal: AbortSignal): Promise<DeviceStatus> {
  using limit = deadline(sources.clock, ENGINE_TIMEOUT_MS, signal);
  const apps = sources.store.apps();
  const findDenial = sources.daemon?.createPolicyCheck();
  const mounts = await sources.host.readMounts();
  const [engine, summaries] = await Promise.all([
    readEngineStatus(sources, limit.signal),
    Promise.all(apps.map((app) => summarize(app, { ...sources, findDenial, mounts }, limit.signal))),
  ]);
  signal.throwIfAborted();
  return { ...engine, apps: summaries, deployments: pendingDeployments(sources.store) };
}

async function readEngineStatus(
  { engine, host, diskReserveBytes, ...sources }: DeviceStatusSources,
  signal: AbortSignal,
): Promise<{ readonly engine: EngineResponse; readonly disk: DeviceStatus["disk"] }> {
  try {
    const [{ kind, version }, { dataRoot }] = await Promise.all([engine.identify(signal), sources.engineInfo(signal)]);
    const free = await host.freeBytes(dataRoot);
    const disk = free === undefined ? null : { path: dataRoot, free_bytes: free, reserve_bytes: diskReserveBytes };
    return { engine: { ok: true, kind, version }, disk };
  } catch (error) {
    return { engine: { ok: false, reason: reasonOf(error) }, disk: null };
  }
}

type AppSources = DeviceStatusSources & {
  readonly findDenial: PolicyCheck | undefined;
  readonly mounts: readonly MountEntry[];
};

async function summarize(app: AppRecord, sources: AppSources, signal: AbortSignal): Promise<AppSummary> {
  const { spec } = app;
  const common = {
    name: app.name,
    image: spec.image,
    ports: spec.ports,
    host_network: spec.host_network,
  };
  try {
    const [container, forbidden] = await Promise.all([
      findAppContainer(app, sources.engine, signal),
      sources.findDenial?.(app, signal),
    ]);
    const { daemon } = sources;
    const held = daemon?.heldFor(app.name);
    const isUp = container?.status === "running";
    const missingDevices = isUp ? [] : await findMissingDevices(spec, sources.host);
    const failedDisk = findFailedDisk(spec, sources.mounts);
    const other = failedDisk === undefined ? foreignText(app.changed) : failedDiskText(failedDisk);
    const { state, trouble = other ?? null } = appState({
      container: container && { ...container, runsForMs: runsFor(container.startedAt, sources.clock.timeOfDay()) },
      isBusy: daemon?.isBusy(app.name) ?? false,
      desired: app.desired,
      forbidden,
      restartPolicy: spec.restart_policy,
      held: held && heldText(held),
      missingDevices,
      notRepaired: daemon?.repairFailure(app.name),
    });
    const [restarts, started_at] = [container?.restartCount ?? null, container?.startedAt ?? null];
    return { ...common, state, trouble, restarts, started_at };
  } catch (error) {
    return { ...common, state: "unknown", trouble: reasonOf(error), restarts: null, started_at: null };
  }
}

/** Returns the milliseconds since a time in the engine's format; 0 if it is invalid or in the future. */
export function runsFor(startedAt: string, nowMs: number): number {
  const began = Date.parse(startedAt);
  return Number.isNaN(began) ? 0 : Math.max(0, nowMs - began);
}

/** Returns the text of an engine's error. A timeout states its length. */
export function reasonOf(error: unknown): string {
  if (error instanceof DOMException && error.name === "TimeoutError") {
    return `it did not answer within ${ENGINE_TIMEOUT_MS / 1000} s`;
  }
  return errorText(error);
}
