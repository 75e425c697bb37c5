import { expect, it } from "vitest";
import { CHART, chartOf, METRIC_NAMES, runsOf } from "../../../src/console/pages/asset/health-chart.ts";
import { HEALTH_METRICS } from "../../../src/protocol/link/device-health.ts";

const HOUR = 3600;
const series = (values: readonly (number | null)[], metric: "cpu_percent" | "temperature_celsius" = "cpu_percent") => ({
  metric,
  min: values.map((value) => value && value - 1),
  mean: [...values],
  max: values.map((value) => value && value + 1),
});

it("every metric of a device has words", () => {
  expect(METRIC_NAMES.toSorted()).toEqual(HEALTH_METRICS.toSorted());
});

it("a gap is a gap: where there is no point, and where a point has not been measured", () => {
  const at = [0, HOUR, 3 * HOUR, 4 * HOUR, 5 * HOUR];
  const runs = runsOf({ at, interval_s: HOUR }, series([10, 20, 30, null, 50]));
  expect(runs.map((run) => run.map((point) => point.mean))).toEqual([[10, 20], [30], [50]]);
  const { lines, areas } = chartOf({ at, interval_s: HOUR }, series([10, 20, 30, null, 50]), 0, 6 * HOUR);
  expect(lines.match(/M/g)).toHaveLength(3);
  expect(areas.match(/Z/g)).toHaveLength(3);
});

it("a point stands for its whole interval, on the scale of shares", () => {
  const chart = chartOf({ at: [HOUR], interval_s: HOUR }, series([50]), 0, 4 * HOUR);
  expect(chart.lines).toBe(`M${CHART.width / 4} ${CHART.height / 2}L${CHART.width / 2} ${CHART.height / 2}`);
  expect(chart).toMatchObject({ low: 0, high: 100, latest: 50, lowest: 49, highest: 51 });
});

it("what is no share has whole tens around it, and a device without a value has none", () => {
  const health = { at: [0, HOUR], interval_s: HOUR };
  expect(chartOf(health, series([61, 68], "temperature_celsius"), 0, 2 * HOUR)).toMatchObject({ low: 60, high: 70 });
  expect(chartOf(health, series([null, null]), 0, 2 * HOUR)).toMatchObject({ lines: "", areas: "", latest: undefined });
});

it("a month in as many points as an answer may have is one path for each metric, and points out of the range stay inside", () => {
  const interval = 4 * HOUR;
  const at = Array.from({ length: 200 }, (_, index) => index * interval);
  const values = at.map((_, index) => 20 + (index % 7));
  const { lines, areas } = chartOf({ at, interval_s: interval }, series(values), interval, 199 * interval);
  expect(lines.match(/M/g)).toHaveLength(1);
  const xs = [...`${lines}${areas}`.matchAll(/([0-9.]+) [0-9.]+/g)].map(([, x]) => Number(x));
  expect([Math.min(...xs), Math.max(...xs)]).toEqual([0, CHART.width]);
});
