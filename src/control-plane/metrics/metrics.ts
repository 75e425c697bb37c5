import { collectDefaultMetrics, Registry } from "prom-client";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { BusState } from "../bus/bus.ts";
import type { Store } from "../store/store.ts";
import { registerCollected } from "./collected.ts";
import { MetricsListener } from "./listener.ts";
import { DeploymentMetrics } from "./observe-deployments.ts";
import { measureStore, replaceParts } from "./observe-store.ts";
import type { Observer } from "./observer.ts";
import { ServiceMetrics } from "./service-metrics.ts";

/**
 * Figures of the library for which Node.js lists every connection: with thousands of devices they would cost more than all
 * others together, and block the service meanwhile. `edge_control_devices_connected` says what they would.
 */
const OF_EVERY_CONNECTION = [
  "nodejs_active_resources",
  "nodejs_active_resources_total",
  "nodejs_active_handles",
  "nodejs_active_handles_total",
  "nodejs_active_requests",
  "nodejs_active_requests_total",
];

export interface MetricsOptions {
  readonly store: Store;
  readonly bus: { readonly state: BusState };
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The metrics of one instance, all in a registry of its own. */
export class Metrics {
  readonly registry = new Registry();
  /** The store to use in place of the given one, whose calls are measured. */
  readonly store: Store;
  readonly observer: Observer;
  /** Set when the server exists. */
  countDevices: () => number = () => 0;
  /** The time of records; that of the server when it exists. */
  now: () => number;

  constructor({ store, bus, clock, logger }: MetricsOptions) {
    const { registry } = this;
    this.now = () => clock.now();
    this.observer = new ServiceMetrics(registry);
    const measured = measureStore(store, clock, registry);
    const deployments = new DeploymentMetrics(registry, { now: () => this.now() }, this.observer).observe(
      measured.deployments,
    );
    this.store = replaceParts(measured, { deployments });
    registerCollected({ registry, store, bus, clock, logger, countDevices: () => this.countDevices() });
    collectDefaultMetrics({ register: registry });
    for (const name of OF_EVERY_CONNECTION) registry.removeSingleMetric(name);
  }

  /** Serves them until disposed. */
  async listen(listen: { readonly host: string; readonly port: number }, logger: Logger): Promise<MetricsListener> {
    const { registry } = this;
    const render = (): Promise<string> => registry.metrics();
    const listener = await MetricsListener.open({ listen, contentType: registry.contentType, render, logger });
    const { address, port } = listener.address;
    logger.info({ address, port }, "metrics listening");
    return listener;
  }
}
