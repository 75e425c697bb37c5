import { Gauge, type Registry } from "prom-client";
import { VERSION } from "../../lib/version.ts";
import { compareVersions, isVersion } from "../../protocol/agents/version-order.ts";
import { memberStateSchema } from "../../protocol/fleets/fleet-member.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { BusState } from "../bus/bus.ts";
import { UNFINISHED_STATES } from "../store/statistics.ts";
import type { Store } from "../store/store.ts";

/** Minimum age of the store's figures before they are read again, however often they are asked for. */
export const STORE_FIGURES_MS = 15_000;
/** Time in which the store must respond to count as up. */
export const CHECK_TIMEOUT_MS = 3_000;

/** Labels of agent versions: devices say them, so there may be any number. */
const SHOWN_VERSIONS = 20;
/** Versions that are counted. */
const MAX_VERSIONS = 1_000;

const BUS_STATES: readonly BusState[] = ["local", "up", "down"];

export interface CollectedOptions {
  readonly registry: Registry;
  readonly store: Pick<Store, "check" | "statistics" | "members" | "agentReleases">;
  readonly bus: { readonly state: BusState };
  readonly clock: Pick<Clock, "monotonic" | "timer">;
  readonly logger: Logger;
  /** Number of devices that are connected. */
  readonly countDevices: () => number;
}

/** Registers the figures that are read when they are asked for. */
export function registerCollected({ registry, store, bus, clock, logger, countDevices }: CollectedOptions): void {
  const registers: Registry[] = [];
  const build = new Gauge({ name: "edge_control_build_info", help: "Always 1.", labelNames: ["version"], registers });
  build.set({ version: VERSION }, 1);
  registry.registerMetric(build);
  registry.registerMetric(
    new Gauge({
      name: "edge_control_devices_connected",
      help: "Devices that are connected to this instance.",
      registers,
      collect() {
        this.set(countDevices());
      },
    }),
  );
  registry.registerMetric(
    new Gauge({
      name: "edge_control_bus_state",
      help: "1 for the bus's current state: local (one instance), up, or down (other instances are not reached).",
      labelNames: ["state"],
      registers,
      collect() {
        for (const state of BUS_STATES) this.set({ state }, bus.state === state ? 1 : 0);
      },
    }),
  );
  registry.registerMetric(
    new Gauge({
      name: "edge_control_store_up",
      help: `Whether the database responds within ${CHECK_TIMEOUT_MS / 1000} s.`,
      registers,
      async collect() {
        this.set((await responds(store, clock)) ? 1 : 0);
      },
    }),
  );
  registerStoreFigures({ registry, store, clock, logger });
}

/** What costs a query. Read at most every `STORE_FIGURES_MS`; while that fails, the last ones stay. */
function registerStoreFigures({
  registry,
  store,
  clock,
  logger,
}: Pick<CollectedOptions, "registry" | "store" | "clock" | "logger">): void {
  let readAt = -Infinity;
  let reading: Promise<void> | undefined;
  // Each of the figures is asked for by itself.
  const gauges = storeGauges(registry, async () => {
    if (clock.monotonic() - readAt >= STORE_FIGURES_MS) {
      readAt = clock.monotonic();
      reading = readFigures(store, gauges).catch((error: unknown) => {
        logger.warn({ err: error }, "cannot read the store's figures for the metrics");
      });
    }
    await reading;
  });
}

function storeGauges(registry: Registry, collect: () => Promise<void>) {
  const registers = [registry];
  return {
    size: new Gauge({
      name: "edge_control_store_size_bytes",
      help: "Size of the database's file and of its write-ahead log (wal), if the service has them.",
      labelNames: ["file"],
      registers,
      collect,
    }),
    unfinished: new Gauge({
      name: "edge_control_deployments_unfinished",
      help: `Deployments without an end, of all instances, by what they wait for. At most ${STORE_FIGURES_MS / 1000} s old.`,
      labelNames: ["state"],
      registers,
      collect,
    }),
    fleetMembers: new Gauge({
      name: "edge_control_fleet_members",
      help: `Members of all fleets by how they are, as judged from what their devices report. At most ${STORE_FIGURES_MS / 1000} s old.`,
      labelNames: ["state"],
      registers,
      collect,
    }),
    devices: new Gauge({
      name: "edge_control_devices",
      help: `Devices that have connected, by the version of their agent: the ${SHOWN_VERSIONS} most frequent ones, and other. At most ${STORE_FIGURES_MS / 1000} s old.`,
      labelNames: ["agent_version"],
      registers,
      collect,
    }),
    behind: new Gauge({
      name: "edge_control_devices_behind",
      help: `Devices whose agent is older than the newest release that the service serves. At most ${STORE_FIGURES_MS / 1000} s old.`,
      registers,
      collect,
    }),
  };
}

async function readFigures(
  { statistics, members, agentReleases }: CollectedOptions["store"],
  { size, unfinished, fleetMembers, devices, behind }: ReturnType<typeof storeGauges>,
): Promise<void> {
  const [counts, sizes, states, versions, releases] = await Promise.all([
    statistics.countUnfinished(),
    statistics.sizes(),
    members.countAllStates(),
    statistics.countAgentVersions(MAX_VERSIONS),
    agentReleases.listReleases(),
  ]);
  // Versions that no device has any more are no label.
  devices.reset();
  for (const [version, count] of shownVersions(versions)) devices.set({ agent_version: version }, count);
  behind.set(
    countBehind(
      versions,
      releases.map(({ version }) => version),
    ),
  );
  for (const state of memberStateSchema.options) fleetMembers.set({ state }, states.get(state) ?? 0);
  for (const state of UNFINISHED_STATES) unfinished.set({ state }, counts.get(state) ?? 0);
  if (sizes) size.set({ file: "database" }, sizes.database);
  if (sizes?.wal !== undefined) size.set({ file: "wal" }, sizes.wal);
}

/**
 * Returns the most frequent versions with the number of their devices, and the sum of all others. What is none of a release is
 * not shown: a device may say anything.
 */
function shownVersions(versions: ReadonlyMap<string, number>): readonly (readonly [string, number])[] {
  const shown = [...versions].filter(([version]) => isVersion(version)).slice(0, SHOWN_VERSIONS);
  const all = [...versions.values()].reduce((sum, count) => sum + count, 0);
  const others = all - shown.reduce((sum, [, count]) => sum + count, 0);
  return others > 0 ? [...shown, ["other", others]] : shown;
}

function countBehind(versions: ReadonlyMap<string, number>, releases: readonly string[]): number {
  const [newest] = releases.toSorted((one, other) => compareVersions(other, one));
  if (newest === undefined) return 0;
  const older = [...versions].filter(([version]) => isVersion(version) && compareVersions(version, newest) < 0);
  return older.reduce((sum, [, count]) => sum + count, 0);
}

async function responds(store: Pick<Store, "check">, clock: Pick<Clock, "timer">): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<false>();
  using _timeout = clock.timer(CHECK_TIMEOUT_MS, () => resolve(false));
  const check = store.check().then(
    () => true,
    () => false,
  );
  // Awaited here: the timer is disposed of at the end of this function.
  return await Promise.race([check, late]);
}
