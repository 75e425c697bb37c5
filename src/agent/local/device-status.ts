import { type Clock, deadline } from "../../lib/clock.ts";
import { errorText } from "../../lib/error-text.ts";
import { appState } from "../core/app/app-state.ts";
import type { AppRecord } from "../core/deployment/record.ts";
import type { Engine } from "../engine/engine.ts";
import type { Host } from "../host/host.ts";
import { findAppContainer } from "../apps/find-app-container.ts";
import { pendingDeployments } from "../store/pending-deployments.ts";
import type { StoreReader } from "../store/store-reader.ts";
import type { AppSummary, DeviceStatus, EngineResponse } from "./api.ts";

/** How long the engine may take before the status is told without it, in milliseconds. */
const ENGINE_TIMEOUT_MS = 2_000;

export interface DeviceStatusSources {
  readonly engine: Engine;
  readonly host: Host;
  readonly store: StoreReader;
  readonly clock: Clock;
  /** Where the engine keeps images. */
  readonly dataRoot: (signal: AbortSignal) => Promise<string>;
  /** Bytes. */
  readonly diskReserveBytes: number;
  /** Whether a deployment is at work on the app right now. */
  readonly isBusy: (app: string) => boolean;
  /** Returns a function that finds the rule of the policy in force that an app breaks, in words, as the machine is now. */
  readonly createPolicyCheck: () => (app: AppRecord, signal: AbortSignal) => Promise<string | undefined>;
}

/** Looks at the device: engine, disk, apps and what is being deployed. Never rejects but for the signal. */
export async function readDeviceStatus(sources: DeviceStatusSources, signal: AbortSignal): Promise<DeviceStatus> {
  using limit = deadline(sources.clock, ENGINE_TIMEOUT_MS, signal);
  const apps = sources.store.apps();
  const findDenial = sources.createPolicyCheck();
  const [engine, summaries] = await Promise.all([
    readEngineStatus(sources, limit.signal),
    Promise.all(apps.map((app) => summarize(app, { ...sources, findDenial }, limit.signal))),
  ]);
  signal.throwIfAborted();
  return { ...engine, apps: summaries, deployments: pendingDeployments(sources.store) };
}

async function readEngineStatus(
  { engine, host, diskReserveBytes, ...sources }: DeviceStatusSources,
  signal: AbortSignal,
): Promise<{ readonly engine: EngineResponse; readonly disk: DeviceStatus["disk"] }> {
  try {
    const [{ kind, version }, dataRoot] = await Promise.all([engine.identify(signal), sources.dataRoot(signal)]);
    const free = await host.freeBytes(dataRoot);
    const disk = free === undefined ? null : { path: dataRoot, free_bytes: free, reserve_bytes: diskReserveBytes };
    return { engine: { ok: true, kind, version }, disk };
  } catch (error) {
    return { engine: { ok: false, reason: reasonOf(error) }, disk: null };
  }
}

type AppSources = Omit<DeviceStatusSources, "createPolicyCheck"> & {
  readonly findDenial: ReturnType<DeviceStatusSources["createPolicyCheck"]>;
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
      sources.findDenial(app, signal),
    ]);
    const { state, trouble = null } = appState(
      container && { ...container, runsForMs: runsFor(container.startedAt, sources.clock.now()) },
      sources.isBusy(app.name),
      app.desired,
      forbidden,
    );
    const [restarts, started_at] = [container?.restartCount ?? null, container?.startedAt ?? null];
    return { ...common, state, trouble, restarts, started_at };
  } catch (error) {
    return { ...common, state: "unknown", trouble: reasonOf(error), restarts: null, started_at: null };
  }
}

/** Milliseconds since a time as an engine writes it; 0 where it is none, or in the future of a clock that was set. */
export function runsFor(startedAt: string, nowMs: number): number {
  const began = Date.parse(startedAt);
  return Number.isNaN(began) ? 0 : Math.max(0, nowMs - began);
}

/** An error of the engine in words; one that came too late says so. */
export function reasonOf(error: unknown): string {
  if (error instanceof DOMException && error.name === "TimeoutError") {
    return `it did not answer within ${ENGINE_TIMEOUT_MS / 1000} s`;
  }
  return errorText(error);
}
