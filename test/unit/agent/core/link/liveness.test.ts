import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { judgeLiveness, type LivenessView, wasSuspended } from "../../../../../src/agent/core/link/liveness.ts";

const TIMES = { keepaliveMs: 600_000, pongTimeoutMs: 20_000, ackTimeoutMs: 30_000 };
const view = (fields: Partial<LivenessView>): LivenessView => ({
  now: 0,
  lastReceivedAt: 0,
  probedAt: undefined,
  unackedSince: undefined,
  isResumed: false,
  ...fields,
});
const judge = (fields: Partial<LivenessView>) => judgeLiveness(view(fields), TIMES);

const time = fc.nat({ max: 1e9 });
const maybe = fc.option(time, { nil: undefined });

describe("liveness", () => {
  it("leaves an idle link alone until the keep-alive is due", () => {
    expect(judge({ now: 599_999 })).toEqual({ action: "wait", nextMs: 1 });
    expect(judge({ now: 600_000 })).toEqual({ action: "probe", nextMs: 20_000 });
    expect(judge({ now: 600_000, lastReceivedAt: 300_000 })).toEqual({ action: "wait", nextMs: 300_000 });
  });

  it("probes when events stay unacknowledged", () => {
    expect(judge({ now: 29_999, unackedSince: 0 })).toEqual({ action: "wait", nextMs: 1 });
    expect(judge({ now: 30_000, unackedSince: 0 }).action).toBe("probe");
  });

  it("takes an unanswered probe for the end, and sends no second one meanwhile", () => {
    expect(judge({ now: 19_999, probedAt: 0, unackedSince: 0 })).toEqual({ action: "wait", nextMs: 1 });
    expect(judge({ now: 20_000, probedAt: 0 })).toEqual({ action: "dead" });
  });

  it("probes anew after a suspend instead of believing a timer that was late", () => {
    expect(judge({ now: 1e6, probedAt: 0, isResumed: true }).action).toBe("probe");
    expect(judge({ now: 10, isResumed: true }).action).toBe("probe");
  });

  it("declares nothing dead without a probe, and never schedules a check in the past", () => {
    fc.assert(
      fc.property(time, time, maybe, maybe, fc.boolean(), (now, heardAt, probedAt, unackedSince, resumed) => {
        const verdict = judge({ now, lastReceivedAt: heardAt, probedAt, unackedSince, isResumed: resumed });
        if (verdict.action === "dead") expect(probedAt).toBeDefined();
        else expect(verdict.nextMs).toBeGreaterThan(0);
      }),
    );
  });
});

describe("a suspend", () => {
  const last = { monotonic: 1_000, wall: 500_000, dueInMs: 30_000 };

  it("shows in the time of day going on while the monotonic clock stood", () => {
    expect(wasSuspended(last, { monotonic: 31_000, wall: 530_000 })).toBe(false);
    expect(wasSuspended(last, { monotonic: 31_000, wall: 4_000_000 })).toBe(true);
  });

  it("of the process alone shows in a check that comes late", () => {
    expect(wasSuspended(last, { monotonic: 91_000, wall: 590_000 })).toBe(true);
  });

  it("is not seen in a clock that is set back, nor in a check that comes early", () => {
    expect(wasSuspended(last, { monotonic: 31_000, wall: 0 })).toBe(false);
    expect(wasSuspended(last, { monotonic: 1_001, wall: 500_001 })).toBe(false);
  });
});
