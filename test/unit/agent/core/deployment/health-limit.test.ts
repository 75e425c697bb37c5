import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { healthLimit, nextNoticeMs } from "../../../../../src/agent/core/deployment/health-limit.ts";
import { evaluateSample } from "../../../../../src/agent/core/deployment/verify.ts";

const DEVICE_MS = 120_000;
const upToSeconds = (max: number) => fc.integer({ min: 0, max: max * 1000 });
const CHECK = { startPeriodMs: 300_000, intervalMs: 30_000, timeoutMs: 10_000, retries: 3 };

describe("how long an app may take to become healthy", () => {
  it("is at least the start period of its health check, whatever the device's setting", () => {
    const limit = healthLimit({}, CHECK, DEVICE_MS);
    expect(limit).toEqual({ ms: 430_000, from: "healthcheck" });
    const sample = { status: "running", restartCount: 0, exitCode: 0, startedAt: "then", health: "starting" } as const;
    const window = { settleMs: 3_000, healthTimeoutMs: limit.ms, restartPolicy: undefined };
    const at = (elapsedMs: number) => evaluateSample(sample, { restartCount: 0, startedAt: "then" }, elapsedMs, window);
    expect([at(200_000), at(429_999), at(430_000)]).toEqual(["wait", "wait", "unhealthy"]);
  });

  it("is what the request sets, more or less than the others", () => {
    expect(healthLimit({ health_timeout_s: 600 }, CHECK, DEVICE_MS)).toEqual({ ms: 600_000, from: "health_timeout_s" });
    expect(healthLimit({ health_timeout_s: 5 }, CHECK, DEVICE_MS)).toEqual({ ms: 5_000, from: "health_timeout_s" });
  });

  it("is the device's setting for a shorter check, and for none", () => {
    const expected = { ms: DEVICE_MS, from: "deploy.health_timeout_s" };
    expect(healthLimit({}, { startPeriodMs: 0, intervalMs: 1_000, timeoutMs: 1_000, retries: 3 }, DEVICE_MS)).toEqual(
      expected,
    );
    expect(healthLimit({}, undefined, DEVICE_MS)).toEqual(expected);
  });

  it("leaves the verdict to the engine, up to two hours", () => {
    const check = fc.record({
      startPeriodMs: upToSeconds(3_600),
      intervalMs: upToSeconds(3_600),
      timeoutMs: upToSeconds(600),
      retries: fc.integer({ min: 1, max: 100 }),
    });
    fc.assert(
      fc.property(check, upToSeconds(3_600), (times, deviceMs) => {
        const { startPeriodMs, intervalMs, timeoutMs, retries } = times;
        const { ms: limit } = healthLimit({}, times, deviceMs);
        const engineDecidesBy = startPeriodMs + retries * (intervalMs + timeoutMs);
        expect(limit).toBeGreaterThanOrEqual(Math.min(engineDecidesBy, 7_200_000));
        expect(limit).toBeGreaterThanOrEqual(deviceMs);
        expect(limit).toBeLessThanOrEqual(Math.max(7_200_000, deviceMs));
      }),
    );
  });
});

describe("notices of a wait", () => {
  it("come after 10 s, after 30 s, and then each minute", () => {
    const due: number[] = [];
    for (let at = 0; at < 260_000; at = due.at(-1)!) due.push(nextNoticeMs(at));
    expect(due).toEqual([10_000, 30_000, 90_000, 150_000, 210_000, 270_000]);
  });

  it("are never due in the past, nor more than a minute ahead", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 8_000_000, noNaN: true }), (elapsed) => {
        const wait = nextNoticeMs(elapsed) - elapsed;
        expect(wait).toBeGreaterThan(0);
        expect(wait).toBeLessThanOrEqual(60_000);
      }),
    );
  });
});
