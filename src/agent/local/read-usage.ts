import { deadline } from "../../lib/clock.ts";
import type { ContainerUsage } from "../engine/engine.ts";
import { findAppContainer } from "../apps/find-app-container.ts";
import type { AppUsage, Top } from "./api.ts";
import { type DeviceStatusSources, readDeviceStatus } from "./device-status.ts";

const ENGINE_TIMEOUT_MS = 4_000;

/** Reads the resources the apps use, with one request to the engine for each. Rejects as `readDeviceStatus` does. */
export async function readUsage(
  sources: DeviceStatusSources,
  signal: AbortSignal,
): Promise<Pick<Top, "apps" | "disk">> {
  using limit = deadline(sources.clock, ENGINE_TIMEOUT_MS, signal);
  const usage = async (name: string): Promise<AppUsage | null> => {
    const app = sources.store.apps().find((record) => record.name === name);
    const container = app && (await findAppContainer(app, sources.engine, limit.signal));
    if (container?.status !== "running") return null;
    return toAppUsage(await sources.engine.containerUsage(container.id, limit.signal));
  };
  const { apps, disk } = await readDeviceStatus(sources, signal);
  // An app that has just been removed has none.
  const used = await Promise.all(apps.map(({ name }) => usage(name).catch(() => null)));
  signal.throwIfAborted();
  return { disk, apps: apps.map((app, index) => Object.assign(app, { usage: used[index] ?? null })) };
}

function toAppUsage(usage: ContainerUsage | undefined): AppUsage | null {
  if (!usage) return null;
  return {
    cpu_ns: usage.cpuNs,
    memory_bytes: usage.memoryBytes,
    memory_limit_bytes: usage.memoryLimitBytes ?? null,
    received_bytes: usage.receivedBytes ?? null,
    sent_bytes: usage.sentBytes ?? null,
  };
}
