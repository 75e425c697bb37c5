import { type Clock, deadline } from "../../lib/clock.ts";
import { type AppStats, type AppUsage, MAX_STATS_APPS } from "../../protocol/apps/app-stats.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { runState } from "../core/app/run-state.ts";
import { type UsageSample, usageBetween } from "../core/app/usage-between.ts";
import type { AppRecord } from "../core/records.ts";
import type { ContainerState, Engine } from "../engine/engine.ts";
import { EngineError } from "../engine/engine-error.ts";
import { findAppContainer } from "./find-app-container.ts";

/** Between the two samples of the first answer, in milliseconds. */
const FIRST_INTERVAL_MS = 1_000;
/** Maximum time of one sample, in milliseconds. */
const ENGINE_TIMEOUT_MS = 4_000;
/** Maximum time for the sizes of file systems. Engines read whole directory trees, and the client waits. */
const SIZES_TIMEOUT_MS = 5_000;

export interface AppStatsSource {
  readonly engine: Engine;
  readonly store: { apps(): readonly AppRecord[] };
  readonly clock: Clock;
}

export interface AppStatsRequest {
  /** One app only; all apps without it. */
  readonly app?: string | undefined;
  readonly follow: boolean;
  readonly intervalMs: number;
}

/**
 * Measures what the apps use: once, or at intervals until the signal aborts or the one requested app is removed. The first
 * result takes a second, for the rates. Nothing is measured while no result is taken. Errors: `EdgeError` `AppNotFound`,
 * `EngineUnavailable`.
 */
export async function* readAppStats(
  { app, follow, intervalMs }: AppStatsRequest,
  source: AppStatsSource,
  signal: AbortSignal,
): AsyncGenerator<AppStats, "read" | "removed"> {
  const { clock } = source;
  if (app !== undefined && findApps(app, source).length === 0) {
    throw new EdgeError("AppNotFound", `There is no app named ${app} on this device.`);
  }
  const sizes = follow ? undefined : readSizes(findApps(app, source), source, signal);
  let before = await sample(app, source, signal);
  for (let waitMs = FIRST_INTERVAL_MS; ; waitMs = intervalMs) {
    await clock.sleep(waitMs, signal);
    const now = await sample(app, source, signal);
    if (app !== undefined && now.apps.length === 0) return "removed";
    yield toStats(before, now, await sizes, clock);
    if (!follow) return "read";
    before = now;
  }
}

interface SampledApp {
  readonly name: string;
  readonly container: ContainerState | undefined;
  readonly usage: UsageSample | undefined;
}

interface Sample {
  readonly apps: readonly SampledApp[];
  readonly omitted: number;
}

function findApps(name: string | undefined, { store }: AppStatsSource): readonly AppRecord[] {
  return store.apps().filter((app) => name === undefined || app.name === name);
}

async function sample(name: string | undefined, source: AppStatsSource, signal: AbortSignal): Promise<Sample> {
  using limit = deadline(source.clock, ENGINE_TIMEOUT_MS, signal);
  const all = findApps(name, source).toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const shown = all.slice(0, MAX_STATS_APPS);
  try {
    const apps = await Promise.all(shown.map((app) => sampleApp(app, source, limit.signal)));
    return { apps, omitted: all.length - shown.length };
  } catch (error) {
    signal.throwIfAborted();
    const isTimeout = error instanceof DOMException && error.name === "TimeoutError";
    if (!isTimeout && !(error instanceof EngineError)) throw error;
    throw new EdgeError("EngineUnavailable", `The container engine cannot be asked: ${error.message}`, undefined, {
      cause: error,
    });
  }
}

async function sampleApp(app: AppRecord, { engine, clock }: AppStatsSource, signal: AbortSignal): Promise<SampledApp> {
  const container = await findAppContainer(app, engine, signal);
  if (container?.status !== "running") return { name: app.name, container, usage: undefined };
  const usage = await engine.containerUsage(container.id, signal);
  const run = `${container.id} ${container.startedAt}`;
  return { name: app.name, container, usage: usage && { ...usage, atMs: clock.monotonic(), run } };
}

/** Reads the size of each app's file system, by app. Sizes that cannot be read in time are left out. */
async function readSizes(
  apps: readonly AppRecord[],
  { engine, clock }: AppStatsSource,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  using limit = deadline(clock, SIZES_TIMEOUT_MS, signal);
  const sizes = new Map<string, number>();
  const read = async (app: AppRecord): Promise<void> => {
    const container = await findAppContainer(app, engine, limit.signal);
    const size = container && (await engine.writableBytes(container.id, limit.signal));
    if (size !== undefined) sizes.set(app.name, size);
  };
  // A size that the engine does not say is left out.
  await Promise.all(apps.slice(0, MAX_STATS_APPS).map((app) => read(app).catch(() => undefined)));
  return sizes;
}

function toStats(before: Sample, now: Sample, sizes: ReadonlyMap<string, number> | undefined, clock: Clock): AppStats {
  const earlier = new Map(before.apps.map(({ name, usage }) => [name, usage]));
  const apps = now.apps.map(({ name, container, usage }): AppUsage => {
    const { state } = runState(container, clock.timeOfDay());
    return { app: name, state, ...usageBetween(earlier.get(name), usage), writable_bytes: sizes?.get(name) ?? null };
  });
  return { measured_at: Math.max(0, Math.floor(clock.timeOfDay() / 1000)), apps, omitted_apps: now.omitted };
}
