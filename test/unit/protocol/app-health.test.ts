import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type AppFigures,
  type AppHealthRow,
  appPointsOf,
  combineAppRows,
  cpuOfStep,
  largestApps,
  MAX_CPU_STEP,
  MAX_MEMORY_STEP,
  memoryOfStep,
  stepOfCpu,
  stepOfMemory,
} from "../../../src/protocol/link/app-health.ts";
import { boundApps, decodeAppRows, encodeAppRows } from "../../../src/protocol/link/app-health-rows.ts";
import { MAX_ANSWERED_APPS } from "../../../src/protocol/link/device-health.ts";
import { HealthMessageReader, HealthMessageWriter } from "../../../src/protocol/link/health-message.ts";

const HOUR = 3_600;

const peak = (max: number, valueOf: (step: number) => number) =>
  fc.tuple(fc.nat(max), fc.nat(max)).map(([one, other]) => {
    const [mean, highest] = [Math.min(one, other), Math.max(one, other)];
    return [valueOf(mean), valueOf(highest)] as const;
  });
const cpu = peak(MAX_CPU_STEP, cpuOfStep);
const memory = peak(MAX_MEMORY_STEP, memoryOfStep);
const restarts = fc.nat(60);
const figures: fc.Arbitrary<AppFigures> = fc.oneof(
  fc.record({ cpu_percent: cpu, memory_bytes: memory, restarts }),
  fc.record({ cpu_percent: cpu, restarts }),
  fc.record({ memory_bytes: memory, restarts }),
);
const name = fc.constantFrom("web", "node-red", "a", "Z_9.x", "x".repeat(63));
const hours = (maxLength: number) =>
  fc
    .tuple(
      fc.integer({ min: 400_000, max: 500_000 }),
      fc.array(fc.tuple(fc.integer({ min: 1, max: 30 }), fc.dictionary(name, figures, { minKeys: 1 })), { maxLength }),
    )
    .map(([first, steps]) => {
      let hour = first;
      return steps.map(([step, apps]): AppHealthRow => ({
        at: (hour += step) * HOUR,
        apps: new Map(Object.entries(apps)),
      }));
    });

const used = (at: number, apps: Record<string, AppFigures>): AppHealthRow => ({
  at,
  apps: new Map(Object.entries(apps)),
});

describe("what apps used", () => {
  test("is in steps, within 9 % of the processor and 4.5 % of the memory, and the value of a step is in it", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.1, max: 80_000, noNaN: true }),
        fc.integer({ min: 65_536, max: 2 ** 40 }),
        (percent, bytes) => {
          expect(Math.abs(cpuOfStep(stepOfCpu(percent)) / percent - 1)).toBeLessThan(0.095);
          expect(Math.abs(memoryOfStep(stepOfMemory(bytes)) / bytes - 1)).toBeLessThan(0.045);
        },
      ),
    );
    for (let step = 0; step <= MAX_CPU_STEP; step++) expect(stepOfCpu(cpuOfStep(step))).toBe(step);
    for (let step = 0; step <= MAX_MEMORY_STEP; step++) expect(stepOfMemory(memoryOfStep(step))).toBe(step);
    for (const nothing of [0, -1, Number.NaN]) expect([stepOfCpu(nothing), stepOfMemory(nothing)]).toEqual([0, 0]);
    expect([stepOfCpu(1e300), stepOfMemory(1e300)]).toEqual([MAX_CPU_STEP, MAX_MEMORY_STEP]);
  });

  test("is decoded as it was encoded: a day on record, and the messages of a session with their rows", () => {
    fc.assert(
      fc.property(hours(24), (some) => {
        expect(decodeAppRows(encodeAppRows(some))).toEqual(some);
      }),
    );
    fc.assert(
      fc.property(fc.array(hours(4), { maxLength: 6 }), (all) => {
        const [writer, reader] = [new HealthMessageWriter(), new HealthMessageReader()];
        for (const [index, apps] of all.entries()) {
          const report = { rows: [{ at: 1_700_000_100 + index * 900, spreads: {} }], apps };
          expect(reader.read(writer.write(report))).toEqual(report);
        }
      }),
    );
  });

  test("of a session names apps once, and again when there is another one", () => {
    const writer = new HealthMessageWriter();
    const send = (hour: number, ...names: readonly string[]) =>
      writer.write({
        rows: [{ at: hour * HOUR, spreads: {} }],
        apps: [
          { at: hour * HOUR, apps: new Map(names.map((one) => [one, { memory_bytes: [1e8, 1e8], restarts: 0 }])) },
        ],
      }).length;
    const [first, second, fewer, again, other] = [
      send(1, "node-red", "mosquitto"),
      send(2, "node-red", "mosquitto"),
      send(3, "mosquitto"),
      send(4, "mosquitto", "node-red"),
      send(5, "web"),
    ];
    expect(first - second).toBeGreaterThan(12);
    expect(Math.max(fewer, again)).toBeLessThanOrEqual(second + 1);
    expect(other).toBeGreaterThan(second);
  });

  test("is bounded to the apps with the most memory", () => {
    const apps = new Map(
      Array.from({ length: 40 }, (_, index) => [`a${index}`, { memory_bytes: [index, index], restarts: 0 } as const]),
    );
    expect([...largestApps(apps, 2).keys()]).toEqual(["a38", "a39"]);
    const [row] = boundApps([{ at: 0, apps }], 16);
    expect(row?.apps.size).toBe(16);
    const shown = appPointsOf([{ at: 0, apps }], { from: 0, to: HOUR, points: 1 }, HOUR);
    expect([shown.apps.length, shown.omitted_apps]).toEqual([MAX_ANSWERED_APPS, 40 - MAX_ANSWERED_APPS]);
  });

  test("has means, highest values and sums of restarts as points, and null where an app did not run", () => {
    const rows = [
      used(0, { web: { cpu_percent: [1, 5], memory_bytes: [100, 200], restarts: 1 } }),
      used(900, { web: { memory_bytes: [201, 400], restarts: 2 }, job: { cpu_percent: [3, 3], restarts: 0 } }),
      used(3_600, { web: { cpu_percent: [2.26, 2.26], restarts: 0 } }),
    ];
    expect(combineAppRows(rows, HOUR)[0]?.apps.get("web")).toEqual({
      cpu_percent: [1, 5],
      memory_bytes: [150.5, 400],
      restarts: 3,
    });
    expect(appPointsOf(rows, { from: 0, to: 7_200, points: 2 }, 900)).toEqual({
      interval_s: 3_600,
      at: [0, 3_600],
      apps: [
        {
          app: "job",
          cpu_percent: { mean: [3, null], max: [3, null] },
          memory_bytes: { mean: [null, null], max: [null, null] },
          restarts: [0, null],
        },
        {
          app: "web",
          cpu_percent: { mean: [1, 2.3], max: [5, 2.3] },
          memory_bytes: { mean: [151, null], max: [400, null] },
          restarts: [3, 0],
        },
      ],
      omitted_apps: 0,
    });
  });
});

describe("a device that lies about its apps", () => {
  test("is decoded within all bounds, or refused", () => {
    fc.assert(
      fc.property(hours(4), fc.nat(), fc.nat(255), (apps, position, value) => {
        const message = new HealthMessageWriter().write({ rows: [{ at: 1_700_000_100, spreads: {} }], apps });
        message[1 + (position % (message.length - 1))] = value;
        for (const { at, apps: found } of new HealthMessageReader().read(message)?.apps ?? []) {
          expect(at % HOUR === 0 && at >= 0 && found.size <= MAX_ANSWERED_APPS).toBe(true);
          for (const [each, { cpu_percent: cpu, memory_bytes: memory, restarts }] of found) {
            expect(each).toMatch(/^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}$/);
            for (const [mean, max] of [cpu ?? [0, 0], memory ?? [0, 0]]) expect(0 <= mean && mean <= max).toBe(true);
            expect(
              (cpu?.[1] ?? 0) <= cpuOfStep(MAX_CPU_STEP) && (memory?.[1] ?? 0) <= memoryOfStep(MAX_MEMORY_STEP),
            ).toBe(true);
            expect(restarts).toBeLessThanOrEqual(1_000);
          }
        }
      }),
      { numRuns: 500 },
    );
  });

  test.each(["<b>", "a\nb", "", "x".repeat(64), ".."])("an app named %j is refused", (bad) => {
    expect(
      decodeAppRows(encodeAppRows([{ at: HOUR, apps: new Map([[bad, { restarts: 0, memory_bytes: [1, 1] }]]) }])),
    ).toBeUndefined();
  });

  test("more apps or hours than there may be are refused", () => {
    const one: AppFigures = { memory_bytes: [1e8, 1e8], restarts: 0 };
    const many = new Map(Array.from({ length: MAX_ANSWERED_APPS + 1 }, (_, index) => [`a${index}`, one]));
    expect(decodeAppRows(encodeAppRows([{ at: HOUR, apps: many }]))).toBeUndefined();
    const long = Array.from({ length: 50 }, (_, index) => ({ at: index * HOUR, apps: new Map([["a", one]]) }));
    expect(decodeAppRows(encodeAppRows(long))).toBeUndefined();
    expect(decodeAppRows(encodeAppRows(long.slice(1)))).toHaveLength(49);
  });
});
