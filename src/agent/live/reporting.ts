import { memoize } from "../../lib/memoize.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { DataUsageParams, DeviceDataUsage } from "../../protocol/link/data-usage.ts";
import type { DeviceHealth, HealthParams } from "../../protocol/link/device-health.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { type DeviceFacts, MAX_ENGINE_TROUBLES } from "../../protocol/apps/app-report.ts";
import type { HeldWork } from "../core/service/crash-loop.ts";
import type { LogLimits } from "../core/logs/budget.ts";
import { listVolumes, removeVolume } from "../apps/volumes.ts";
import type { Engine, EngineInfo } from "../engine/engine.ts";
import { EngineError } from "../engine/engine-error.ts";
import type { Host } from "../host/host.ts";
import type { StateWatch } from "../host/state-watch.ts";
import type { DeviceReporting, HealthSource } from "../link/ports.ts";
import type { NotifyingStore } from "../store/notifying-store.ts";
import type { PreviousLogs } from "../store/previous-logs.ts";
import type { Readings } from "../telemetry/readings.ts";
import { sendAppLog } from "./send-app-log.ts";
import { readDeploymentOutcomes } from "./deployment-outcomes.ts";
import { readDeviceState } from "./device-state.ts";
import { type CountResponseTraffic, QueryAnswers, type QueryHandlers } from "./queries.ts";
import { ReportBuilder } from "./report-builder.ts";
import { Reporter } from "./reporter.ts";
import type { AppStats, StatsParams } from "../../protocol/apps/app-stats.ts";
import { type AppStatsSource, readAppStats } from "../apps/app-stats.ts";

const MAX_TROUBLE_LENGTH = 256;

/** Device facts do not change while the machine runs, except those of the engine. */
const FACTS_TTL_MS = 600_000;

export interface ReportingOptions {
  readonly engine: Engine;
  readonly host: Host;
  readonly store: NotifyingStore;
  readonly previousLogs: PreviousLogs;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly stateDir: string;
  readonly limits: LogLimits;
  readonly reportsPerHour: number;
  /** Whether a deployment works on the app. */
  readonly isBusy: (app: string) => boolean;
  /** Why an app that does not run is not brought back yet. */
  readonly heldFor: (app: string) => HeldWork | undefined;
  readonly facts: (engine: EngineInfo | undefined) => Promise<DeviceFacts>;
  readonly troubles: { readonly texts: readonly string[] };
  readonly stateWatch: Pick<StateWatch, "fault" | "onChange">;
  readonly readings: (signal: AbortSignal) => Promise<Readings>;
  readonly agentUptimeS: () => number;
  readonly dataUsage: (params: DataUsageParams) => DeviceDataUsage;
  readonly health: {
    between(params: HealthParams): DeviceHealth;
    /** `undefined`: nothing is sent unless it is asked for. */
    readonly reports: HealthSource | undefined;
  };
  readonly traffic: CountResponseTraffic;
}

/** Creates the handlers of queries and reports. `run` publishes reports until the signal aborts. */
export function createReporting(
  options: ReportingOptions,
): DeviceReporting & { readonly run: (signal: AbortSignal) => Promise<void> } {
  const { engine, clock, reportsPerHour: maxPerHour } = options;
  const lasting = memoize(clock, FACTS_TTL_MS, async (signal) => options.facts(await engine.info(signal)));
  // What is not kept can change at any time.
  const withTroubles = (facts: DeviceFacts): DeviceFacts => ({
    ...facts,
    ...engineTroubles(options.troubles),
    state_writable: options.stateWatch.fault === undefined,
  });
  const builder = new ReportBuilder({ ...options, facts: async (signal) => withTroubles(await lasting(signal)) });
  const reporter = new Reporter({ ...options, builder, maxPerHour });
  const current = {
    ...options,
    facts: async (info: EngineInfo | undefined) => withTroubles(await options.facts(info)),
  };
  return {
    queries: new QueryAnswers(createQueryHandlers(current, builder), options.traffic),
    reports: builder,
    health: options.health.reports && counted(options.health.reports, options.traffic),
    run: (signal) => reporter.run(signal),
  };
}

/** Counts what is sent. */
function counted(source: HealthSource, traffic: CountResponseTraffic): HealthSource {
  return {
    get due() {
      return source.due;
    },
    take(afterAt, writer) {
      const message = source.take(afterAt, writer);
      if (message) traffic("telemetry", message.bytes.length, undefined);
      return message;
    },
    onEarly: (listener) => source.onEarly(listener),
  };
}

function engineTroubles({ texts }: ReportingOptions["troubles"]): Pick<DeviceFacts, "engine_troubles"> {
  if (texts.length === 0) return {};
  return { engine_troubles: texts.slice(0, MAX_ENGINE_TROUBLES).map((text) => text.slice(0, MAX_TROUBLE_LENGTH)) };
}

function createQueryHandlers(options: ReportingOptions, builder: ReportBuilder): QueryHandlers {
  return {
    async report({ send, signal }) {
      await send(await withEngineErrors(() => builder.buildComplete(signal), signal));
      return undefined;
    },
    async app({ params: { app, reveal }, send, signal }) {
      const found = await withEngineErrors(() => builder.buildApp(app, signal), signal);
      if (!found) throw new EdgeError("AppNotFound", `There is no app named ${app} on this device.`);
      await send({ app: found.report, ...(reveal && { spec: found.spec }) });
      return undefined;
    },
    async device({ send, signal }) {
      await send(await readDeviceState(options, signal));
      return undefined;
    },
    logs: ({ params, send, signal }) => sendAppLog(params, options, send, signal),
    stats: ({ params, send, signal }) => sendAppStats(params, options, send, signal),
    async data_usage({ params, send }) {
      await send(options.dataUsage(params));
      return undefined;
    },
    async health({ params, send }) {
      await send(options.health.between(params));
      return undefined;
    },
    async deployments({ params, send }) {
      await send({ deployments: readDeploymentOutcomes(options.store, params.deployment_ids) });
      return undefined;
    },
    async volumes({ params, send, signal }) {
      await send(await withEngineErrors(() => listVolumes(options, params, signal), signal));
      return undefined;
    },
    async remove_volume({ params: { name }, send, signal }) {
      await withEngineErrors(() => removeVolume(options, name, signal), signal);
      options.logger.warn({ volume: name }, "a volume was deleted with its data, as the control plane asked");
      await send({ name });
      return undefined;
    },
  };
}

/** Converts errors and timeouts of the engine to `EngineUnavailable`. */
async function withEngineErrors<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    const isTimeout = error instanceof DOMException && error.name === "TimeoutError";
    if (!isTimeout && !(error instanceof EngineError)) throw error;
    throw new EdgeError("EngineUnavailable", `The container engine cannot be asked: ${error.message}`, undefined, {
      cause: error,
    });
  }
}

/**
 * Sends what the apps use: once, or at intervals until the signal aborts. The next measurement begins when the one before
 * has left. Resolves with a message if it ended because the app was removed. Errors: `EdgeError` as from `readAppStats`.
 */
async function sendAppStats(
  { app, follow, interval_s }: StatsParams,
  source: AppStatsSource,
  send: (stats: AppStats) => Promise<unknown>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const measured = readAppStats({ app, follow, intervalMs: interval_s * 1000 }, source, signal);
  for (;;) {
    const next = await measured.next();
    if (next.done) return next.value === "removed" ? "The app was removed." : undefined;
    await send(next.value);
  }
}
