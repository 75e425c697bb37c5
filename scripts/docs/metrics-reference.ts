import type { Metric } from "prom-client";
import { Metrics } from "../../src/control-plane/metrics/metrics.ts";
import { openStore } from "../../src/control-plane/store/sqlite/open-store.ts";
import { systemClock } from "../../src/lib/clock.ts";
import type { Logger } from "../../src/lib/logger.ts";

/** What prom-client keeps of a metric. */
type Described = Metric & {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labelNames: readonly string[];
};

/** Returns a Markdown table of all metrics of edge-control, those of its process included. */
export function metricsReference(): string {
  const options = { store: openStore(":memory:"), bus: { state: "local" as const }, clock: systemClock };
  const { registry } = new Metrics({ ...options, logger: {} as Logger });
  const rows = (registry.getMetricsAsArray() as unknown as readonly Described[]).map(
    ({ name, type, labelNames, help }) =>
      `| \`${name}\` | ${type} | ${labelNames.map((label) => `\`${label}\``).join(", ")} | ${help.replace(/[^.]$/, "$&.")} |`,
  );
  return ["| metric | type | labels | meaning |", "| --- | --- | --- | --- |", ...rows].join("\n");
}
