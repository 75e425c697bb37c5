import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { NumberedHealthRow } from "../../../../src/agent/core/health/health-row.ts";
import { HealthRecorder } from "../../../../src/agent/telemetry/health-recorder.ts";
import { HealthRing, MAX_RING_BYTES } from "../../../../src/agent/telemetry/health-ring.ts";
import { MachineSampler } from "../../../../src/agent/telemetry/machine-sampler.ts";
import { openHealth } from "../../../../src/agent/telemetry/open-health.ts";
import { HEALTH_KEPT_S, HEALTH_METRICS, HEALTH_ROW_S } from "../../../../src/protocol/link/device-health.ts";
import { captureLogText } from "../../../support/captured-log.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { memoryDir } from "../../../support/temp-dir.ts";

const START = 1_790_000_000;
const MINUTE_MS = 60_000;
const SLOTS = HEALTH_KEPT_S / HEALTH_ROW_S;

let directory: Awaited<ReturnType<typeof memoryDir>>;
let path: string;
beforeEach(async () => {
  directory = await memoryDir();
  path = join(directory.path, "health.ring");
});
afterEach(() => directory[Symbol.asyncDispose]());

const byNumber = (rows: readonly NumberedHealthRow[]): NumberedHealthRow[] =>
  rows.toSorted((a, b) => a.number - b.number);

describe("the ring", () => {
  test("keeps the rows of 48 hours in a file of at most 256 KiB, also over restarts", () => {
    const worst = Object.fromEntries(HEALTH_METRICS.map((metric) => [metric, [100.1, 100.1, 100.1] as const]));
    const ring = new HealthRing(path);
    for (let index = 0; index < SLOTS + 9; index++) ring.add({ at: START + index * HEALTH_ROW_S, spreads: worst });
    new HealthRing(path).add({ at: START + (SLOTS + 9) * HEALTH_ROW_S, spreads: worst });
    const rows = byNumber(new HealthRing(path).rows());
    expect(rows).toHaveLength(SLOTS);
    expect(rows[0]).toEqual({ number: 11, at: START + 10 * HEALTH_ROW_S, spreads: worst });
    expect(rows.at(-1)?.number).toBe(SLOTS + 10);
    expect(statSync(path).size).toBeLessThanOrEqual(MAX_RING_BYTES);
    expect(MAX_RING_BYTES).toBeLessThanOrEqual(256 * 1024);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("loses no more than what is damaged, and overwrites it in its turn", () => {
    const ring = new HealthRing(path);
    for (let index = 1; index <= 3; index++) ring.add({ at: START + index, spreads: { cpu_percent: [1, 2, 3] } });
    const bytes = readFileSync(path);
    bytes.fill("\u0000", 2 * 256 + 4, 2 * 256 + 20);
    writeFileSync(path, Buffer.concat([bytes, Buffer.alloc(1_000_000, "[1,1,[]]")]));
    const again = new HealthRing(path);
    again.add({ at: START + 4, spreads: {} });
    expect(byNumber(again.rows()).map(({ number }) => number)).toEqual([1, 3, 4]);
    writeFileSync(path, "no ring");
    expect(new HealthRing(path).rows()).toEqual([]);
  });
});

describe("the recorder", () => {
  test("keeps one row for five samples, a minute apart, dated by the time of records", async () => {
    const clock = new FakeClock(START * 1000);
    let use = 0;
    const sampler = { sample: () => ({ cpu_percent: use++ }) };
    const ring = new HealthRing(path);
    const recorder = new HealthRecorder({ sampler, ring, clock, logger: captureLogText().logger });
    const ending = new AbortController();
    const running = recorder.run(ending.signal);
    await clock.advance(4 * MINUTE_MS);
    expect(existsSync(path)).toBe(false);
    await clock.advance(8 * MINUTE_MS);
    ending.abort();
    await running;
    expect(byNumber(ring.rows())).toEqual([
      { number: 1, at: START + 300, spreads: { cpu_percent: [1, 3, 5] } },
      { number: 2, at: START + 600, spreads: { cpu_percent: [6, 8, 10] } },
    ]);
    expect(recorder.between({ from: START, to: START + 700, points: 1 }).series).toEqual([
      { metric: "cpu_percent", min: [1], mean: [5.5], max: [10] },
    ]);
  });

  test("goes on when the disk cannot be written, and says so once", async () => {
    const clock = new FakeClock(START * 1000);
    const log = captureLogText();
    let isBroken = true;
    const added: number[] = [];
    const ring = {
      rows: () => [],
      add({ at }: { readonly at: number }) {
        if (isBroken) throw new Error("EROFS: read-only file system");
        added.push(at);
      },
    };
    // Most samples of apps write nothing.
    const apps = { sample: () => false, rows: () => [] };
    const recorder = new HealthRecorder({ sampler: { sample: () => ({}) }, apps, ring, clock, logger: log.logger });
    const ending = new AbortController();
    const running = recorder.run(ending.signal);
    await clock.advance(15 * MINUTE_MS);
    isBroken = false;
    await clock.advance(5 * MINUTE_MS);
    ending.abort();
    await running;
    expect(added).toEqual([START + 1_200]);
    expect(log.text().split("health history cannot be written")).toHaveLength(2);
  });

  test("that is switched off records nothing and removes what was recorded", async () => {
    new HealthRing(path).add({ at: START, spreads: { cpu_percent: [1, 1, 1] } });
    writeFileSync(join(directory.path, "apps.ring"), "rows");
    const clock = new FakeClock(START * 1000);
    const off = openHealth({
      config: { state_dir: directory.path, telemetry: { health: false, health_reports_per_day: 24 } },
      modem: { read: () => Promise.resolve(undefined) },
      store: { apps: () => [] },
      clock,
      random: Math.random,
      logger: captureLogText().logger,
    });
    await off.run(new AbortController().signal);
    expect(clock.pending).toBe(0);
    for (const each of [path, join(directory.path, "apps.ring")]) expect(existsSync(each)).toBe(false);
    expect(off.between({ from: 0, to: START + 1, points: 9 }).at).toEqual([]);
  });
});

describe("the sampler", () => {
  test("reads what the machine has, and leaves out what it has not", () => {
    const proc = join(directory.path, "proc");
    const sys = join(directory.path, "sys");
    for (const zone of ["thermal_zone0", "thermal_zone1", "thermal_zone2", "cooling_device0"])
      mkdirSync(join(sys, "class/thermal", zone), { recursive: true });
    mkdirSync(proc);
    const sampler = new MachineSampler({ directory: directory.path, proc, sys });
    expect(Object.keys(sampler.sample()).toSorted()).toEqual(
      expect.not.arrayContaining(["cpu_percent", "memory_percent", "temperature_celsius", "throttled_percent"]),
    );
    writeFileSync(join(proc, "stat"), "cpu  100 0 0 900 0 0 0 0 0 0\n");
    writeFileSync(join(proc, "meminfo"), "MemTotal: 1000 kB\nMemAvailable: 600 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n");
    writeFileSync(join(sys, "class/thermal/thermal_zone0/temp"), "48500\n");
    writeFileSync(join(sys, "class/thermal/thermal_zone1/temp"), "-274000\n");
    writeFileSync(join(sys, "class/thermal/thermal_zone2/temp"), "none\n");
    mkdirSync(join(sys, "devices/platform/soc/soc:firmware"), { recursive: true });
    writeFileSync(join(sys, "devices/platform/soc/soc:firmware/get_throttled"), "50005\n");
    sampler.sample();
    writeFileSync(join(proc, "stat"), "cpu  130 0 0 970 0 0 0 0 0 0\n");
    const sample = sampler.sample();
    expect(sample).toMatchObject({
      cpu_percent: 30,
      memory_percent: 40,
      temperature_celsius: 48.5,
      throttled_percent: 100,
    });
    expect(sample).not.toHaveProperty("swap_percent");
    expect(sample.disk_percent).toBeGreaterThanOrEqual(0);
  });

  test("measures this machine", () => {
    const sampler = new MachineSampler({ directory: directory.path });
    expect(sampler.sample().memory_percent).toBeGreaterThan(0);
    expect(sampler.sample().disk_percent).toBeLessThanOrEqual(100);
  });
});
