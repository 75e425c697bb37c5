import { type Clock, deadline } from "../../lib/clock.ts";
import type { DeviceFacts } from "../../protocol/apps/app-report.ts";
import type { DeviceState } from "../../protocol/link/device-state.ts";
import { LABELS } from "../core/app/container.ts";
import type { AppRecord } from "../core/records.ts";
import type { Engine, EngineInfo } from "../engine/engine.ts";
import { findManagedContainers } from "../engine/managed-containers.ts";
import type { Host } from "../host/host.ts";
import type { Readings } from "../telemetry/readings.ts";

/** After this time the state is returned without the engine's values, in milliseconds. */
const ENGINE_TIMEOUT_MS = 5_000;
const MAX_CONTAINERS = 500;

export interface DeviceStateSources {
  readonly engine: Engine;
  readonly host: Host;
  readonly store: { apps(): readonly AppRecord[] };
  readonly clock: Clock;
  /** Identifies the agent's own containers by label. */
  readonly stateDir: string;
  readonly facts: (engine: EngineInfo | undefined) => Promise<DeviceFacts>;
  readonly readings: (signal: AbortSignal) => Promise<Readings>;
  readonly agentUptimeS: () => number;
}

/**
 * Reads the current state of the device. Values that cannot be read are `null`. Rejects with the signal's reason, or if
 * `facts` or `readings` rejects.
 */
export async function readDeviceState(sources: DeviceStateSources, signal: AbortSignal): Promise<DeviceState> {
  using limit = deadline(sources.clock, ENGINE_TIMEOUT_MS, signal);
  const [engine, containers, readings] = await Promise.all([
    // An engine that does not answer is reported as such.
    sources.engine.info(limit.signal).catch(() => undefined),
    listContainers(sources, limit.signal).catch(() => []),
    sources.readings(signal),
  ]);
  signal.throwIfAborted();
  const free = engine && (await sources.host.freeBytes(engine.dataRoot));
  return {
    ...(await sources.facts(engine)),
    ...readings,
    // After what takes time: the service compares it with its own time on receipt.
    clock: Math.floor(sources.clock.timeOfDay() / 1000),
    agent_uptime_s: sources.agentUptimeS(),
    disk_free_bytes: free ?? null,
    containers,
  };
}

async function listContainers(
  { engine, store, stateDir }: DeviceStateSources,
  signal: AbortSignal,
): Promise<DeviceState["containers"]> {
  const all = await engine.listContainers(signal);
  const shown = all.slice(0, MAX_CONTAINERS);
  const recorded = new Set(store.apps().map(({ containerId }) => containerId));
  const labelled = shown.filter(({ id, labels }) => labels[LABELS.stateDir] === stateDir || recorded.has(id));
  const own = await findManagedContainers(labelled, { engine, recorded }, signal);
  const apps = new Map(own.map(({ id, app }) => [id, app]));
  return shown.map(({ id, name, image, status }) => ({
    name: name.slice(0, 256),
    app: apps.get(id) ?? null,
    image: image.slice(0, 512),
    status,
  }));
}
