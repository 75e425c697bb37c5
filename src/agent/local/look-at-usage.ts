import { deadline } from "../../lib/clock.ts";
import type { ContainerUsage } from "../engine/engine.ts";
import { ownContainer } from "../live/own-container.ts";
import type { AppUsage, Top } from "./api.ts";
import { type DeviceStatusSources, lookAtDevice } from "./device-status.ts";

const PATIENCE_MS = 4_000;

/** What the apps use at this moment. Asks the engine once for each; never rejects but for the signal. */
export async function lookAtUsage(
  sources: DeviceStatusSources,
  signal: AbortSignal,
): Promise<Pick<Top, "apps" | "disk">> {
  using limit = deadline(sources.clock, PATIENCE_MS, signal);
  const usage = async (name: string): Promise<AppUsage | null> => {
    const app = sources.store.apps().find((record) => record.name === name);
    const container = app && (await ownContainer(app, sources.engine, limit.signal));
    if (container?.status !== "running") return null;
    return toAnswer(await sources.engine.containerUsage(container.id, limit.signal));
  };
  const { apps, disk } = await lookAtDevice(sources, signal);
  const used = await Promise.all(apps.map(({ name }) => usage(name).catch(() => null)));
  signal.throwIfAborted();
  return { disk, apps: apps.map((app, index) => Object.assign(app, { usage: used[index] ?? null })) };
}

function toAnswer(usage: ContainerUsage | undefined): AppUsage | null {
  if (!usage) return null;
  return {
    cpu_ns: usage.cpuNs,
    memory_bytes: usage.memoryBytes,
    memory_limit_bytes: usage.memoryLimitBytes ?? null,
    received_bytes: usage.receivedBytes ?? null,
    sent_bytes: usage.sentBytes ?? null,
  };
}
