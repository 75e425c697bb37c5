import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { spreadsOf } from "../../../../../src/agent/core/health/health-row.ts";
import { busyPercent, parseCpuTimes, parseMemory, percentOf } from "../../../../../src/agent/core/health/proc-stat.ts";
import { deviceHealthSchema, HEALTH_METRICS, HEALTH_ROW_S } from "../../../../../src/protocol/link/device-health.ts";
import { type HealthRow, pointsOf } from "../../../../../src/protocol/link/health-points.ts";

const row = (at: number, cpu: number): HealthRow => ({
  at,
  spreads: { cpu_percent: [cpu - 1, cpu, cpu + 1] },
});

describe("rows", () => {
  test("have the lowest value, the mean and the highest of their samples, and nothing of what was not measured", () => {
    const samples = [{ cpu_percent: 10, temperature_celsius: 40 }, { cpu_percent: 25.06 }, { cpu_percent: 40 }];
    expect(spreadsOf(samples)).toEqual({ cpu_percent: [10, 25, 40], temperature_celsius: [40, 40, 40] });
    expect(spreadsOf([{}, {}])).toEqual({});
  });

  test("become points with gaps where there are none, whatever their order", () => {
    const rows = [row(3_900, 60), row(600, 10), row(300, 30), row(9_999, 5)];
    expect(pointsOf(rows, { from: 0, to: 6_000, points: 10 }, HEALTH_ROW_S)).toEqual({
      interval_s: 600,
      at: [0, 600, 3_600],
      series: [{ metric: "cpu_percent", min: [29, 9, 59], mean: [30, 10, 60], max: [31, 11, 61] }],
    });
    expect(pointsOf([], { from: 0, to: 600, points: 5 }, HEALTH_ROW_S)).toEqual({
      interval_s: HEALTH_ROW_S,
      at: [],
      series: [],
    });
  });

  test("a metric that only some rows have is null in the points of the others", () => {
    const rows = [row(0, 10), { at: 300, spreads: { disk_percent: [1, 2, 3] as const } }];
    expect(pointsOf(rows, { from: 0, to: 600, points: 2 }, HEALTH_ROW_S).series).toEqual([
      { metric: "cpu_percent", min: [9, null], mean: [10, null], max: [11, null] },
      { metric: "disk_percent", min: [null, 1], mean: [null, 2], max: [null, 3] },
    ]);
  });

  test("never become more points than were asked for, and all are within the range", () => {
    const ranges = fc.tuple(
      fc.nat(2_000_000_000),
      fc.integer({ min: 1, max: 48 * 3_600 }),
      fc.integer({ min: 1, max: 200 }),
    );
    fc.assert(
      fc.property(ranges, fc.array(fc.nat(48 * 3_600), { maxLength: 600 }), ([from, length, points], offsets) => {
        const to = from + length;
        const rows = offsets.map((offset) => row(from + offset, 50));
        const health = pointsOf(rows, { from, to, points }, HEALTH_ROW_S);
        expect(deviceHealthSchema.safeParse(health).success).toBe(true);
        expect(health.at.length).toBeLessThanOrEqual(points);
        expect(health.at).toEqual(health.at.toSorted((a, b) => a - b));
        for (const at of health.at) expect(at > from - health.interval_s && at < to).toBe(true);
        expect(health.at.length > 0).toBe(rows.some(({ at }) => at < to));
      }),
    );
  });
});

test.each([
  [96, 19_000],
  [200, 41_000],
])("an answer of %d points takes at most %d bytes, whatever the values", (points, bytes) => {
  const spreads = Object.fromEntries(HEALTH_METRICS.map((metric) => [metric, [99.9, 99.9, 99.9] as const]));
  const rows = Array.from({ length: 576 }, (_, index) => ({ at: 1_790_000_000 + index * 300, spreads }));
  const health = pointsOf(rows, { from: 1_790_000_000, to: 1_790_000_000 + 48 * 3_600, points }, HEALTH_ROW_S);
  expect(health.at.length).toBeGreaterThan(points / 2);
  expect(JSON.stringify(health).length).toBeLessThanOrEqual(bytes);
});

describe("the kernel's files", () => {
  test("say how busy the processors were between two readings", () => {
    const before = parseCpuTimes("cpu  100 0 100 700 100 0 0 0 50 0\ncpu0 1 2 3 4\n");
    const after = parseCpuTimes("cpu  160 0 120 780 140 0 0 0 90 0\n");
    expect(before && after && busyPercent(before, after)).toBe(40);
    expect(before && busyPercent(before, before)).toBeUndefined();
    for (const text of ["", "cpu", "cpu  1 2 3", "intr 5 6 7 8"]) expect(parseCpuTimes(text)).toBeUndefined();
  });

  test("say how much of memory and swap is used, and nothing of swap where there is none", () => {
    const text =
      "MemTotal:        1000 kB\nMemFree: 1 kB\nMemAvailable:     250 kB\nSwapTotal:       200 kB\nSwapFree:  150 kB\n";
    expect(parseMemory(text)).toEqual({ memory: 75, swap: 25 });
    expect(parseMemory(text.replaceAll("200 kB", "0 kB"))).toEqual({ memory: 75 });
    expect(parseMemory("")).toEqual({});
  });

  test("a share is from 0 to 100, or none", () => {
    expect([percentOf(-1, 5), percentOf(9, 5), percentOf(1, 0), percentOf(Number.NaN, 5)]).toEqual([
      0,
      100,
      undefined,
      undefined,
    ]);
  });
});
