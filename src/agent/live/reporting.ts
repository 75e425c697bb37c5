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
import { ClockWatch } from "../link/clock-watch.ts";
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

/** Settings of reports and queries. */
export interface ReportingConfig {
  readonly stateDir: string;
  readonly logLimits: LogLimits;
  readonly reportsPerHour: number;
}

export interface ReportingOptions {
  readonly services: {
    readonly engine: Engine;
    readonly host: Host;
    readonly store: NotifyingStore;
    readonly previousLogs: PreviousLogs;
    readonly clock: Clock;
    readonly random: () => number;
    readonly logger: Logger;
  };
  readonly config: ReportingConfig;
  readonly apps: {
    /** Whether a deployment works on the app. */
    readonly isBusy: (app: string) => boolean;
    /** Why an app that does not run is not brought back yet. */
    readonly heldFor: (app: string) => HeldWork | undefined;
  };
  /** What is said of the device. */
  readonly device: {
    readonly facts: (engine: EngineInfo | undefined) => Promise<DeviceFacts>;
    readonly readings: (signal: AbortSignal) => Promise<Readings>;
    readonly agentUptimeS: () => number;
    readonly engineTroubles: { readonly texts: readonly string[] };
    readonly stateWatch: Pick<StateWatch, "fault" | "onChange">;
    readonly budgetWatch?: {
      readonly isLow: boolean;
      onChange(watcher: () => void): Disposable;
      run(signal: AbortSignal): Promise<void>;
    };
    readonly health: {
      between(params: HealthParams): DeviceHealth;
      /** `undefined`: nothing is sent unless it is asked for. */
      readonly reports: HealthSource | undefined;
    };
  };
  readonly traffic: {
    readonly usage: (params: DataUsageParams) => DeviceDataUsage;
    readonly count: CountResponseTraffic;
  };
}

/** Creates the handlers of queries and reports. `run` publishes reports until the signal aborts. */
export function createReporting(
  options: ReportingOptions,
): DeviceReporting & { readonly run: (signal: AbortSignal) => Promise<void> } {
  const { services, config, apps, device, traffic } = options;
  const { engine, clock } = services;
  const { stateDir, reportsPerHour: maxPerHour } = config;
  const lasting = memoize(clock, FACTS_TTL_MS, async (signal) => device.facts(await engine.info(signal)));
  const clockWatch = new ClockWatch(clock);
  // What is not kept can change at any time.
  const withTroubles = (facts: DeviceFacts): DeviceFacts => ({
    ...facts,
    ...engineTroubles(device.engineTroubles),
    state_writable: device.stateWatch.fault === undefined,
    ...(clockWatch.isWrong && { clock_wrong: true }),
    ...(device.budgetWatch?.isLow && { data_budget_low: true }),
  });
  const facts = async (signal: AbortSignal): Promise<DeviceFacts> => withTroubles(await lasting(signal));
  const builder = new ReportBuilder({ ...services, ...apps, stateDir, facts });
  const { stateWatch, budgetWatch } = device;
  const watches = { stateWatch, clockWatch, ...(budgetWatch && { budgetWatch }) };
  const reporter = new Reporter({ ...services, ...watches, stateDir, builder, maxPerHour });
  const factsNow = async (info: EngineInfo | undefined): Promise<DeviceFacts> => withTroubles(await device.facts(info));
  const current = { ...options, device: { ...device, facts: factsNow } };
  return {
    queries: new QueryAnswers(createQueryHandlers(current, builder), traffic.count),
    reports: builder,
    health: device.health.reports && counted(device.health.reports, traffic.count),
    clockWatch,
    run: async (signal) =>
      void (await Promise.all([reporter.run(signal), clockWatch.run(signal), budgetWatch?.run(signal)])),
  };
}

/** Counts what is sent. */
function counted(source: HealthSource, count: CountResponseTraffic): HealthSource {
  return {
    get due() {
      return source.due;
    },
    take(afterAt, writer) {
      const message = source.take(afterAt, writer);
      if (message) count("telemetry", message.bytes.length, undefined);
      return message;
    },
    onEarly: (listener) => source.onEarly(listener),
    begin: (confirmedAt, thresholds) => source.begin(confirmedAt, thresholds),
    setThresholds: (thresholds) => source.setThresholds(thresholds),
  };
}

function engineTroubles({ texts }: ReportingOptions["device"]["engineTroubles"]): Pick<DeviceFacts, "engine_troubles"> {
  if (texts.length === 0) return {};
  return { engine_troubles: texts.slice(0, MAX_ENGINE_TROUBLES).map((text) => text.slice(0, MAX_TROUBLE_LENGTH)) };
}

function createQueryHandlers(
  { services, config, device, traffic }: ReportingOptions,
  builder: ReportBuilder,
): QueryHandlers {
  const { stateDir, logLimits: limits } = config;
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
      await send(await readDeviceState({ ...services, ...device, stateDir }, signal));
      return undefined;
    },
    logs: ({ params, send, signal }) => sendAppLog(params, { ...services, limits }, send, signal),
    stats: ({ params, send, signal }) => sendAppStats(params, services, send, signal),
    async data_usage({ params, send }) {
      await send(traffic.usage(params));
      return undefined;
    },
    async health({ params, send }) {
      await send(device.health.between(params));
      return undefined;
    },
    async deployments({ params, send }) {
      await send({ deployments: readDeploymentOutcomes(services.store, params.deployment_ids) });
      return undefined;
    },
    async volumes({ params, send, signal }) {
      await send(await withEngineErrors(() => listVolumes({ ...services, stateDir }, params, signal), signal));
      return undefined;
    },
    async remove_volume({ params: { name }, send, signal }) {
      await withEngineErrors(() => removeVolume({ ...services, stateDir }, name, signal), signal);
      services.logger.warn({ volume: name }, "a volume was deleted with its data, as the control plane asked");
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
