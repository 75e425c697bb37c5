import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  progressEvent,
  rateOf,
  resumeEvent,
  type Sample,
  summaryEvent,
  withSample,
} from "../../../../../src/agent/core/deployment/pull-events.ts";

const steadily = (bytesPerSecond: number, seconds: number): Sample[] => {
  let samples: Sample[] = [];
  for (let at = 0; at <= seconds; at++) samples = withSample(samples, { at: at * 1000, bytes: at * bytesPerSecond });
  return samples;
};

describe("the rate of a download", () => {
  test("is that of the last seconds, and keeps a bounded number of samples", () => {
    const samples = steadily(1_000, 300);
    expect(samples.length).toBeLessThan(20);
    expect(rateOf(samples)).toBe(1_000);
  });

  test("falls while nothing is received", () => {
    const stood = withSample(steadily(1_000, 10), { at: 20_000, bytes: 10_000 });
    expect(rateOf(stood)).toBeLessThan(1_000);
  });

  test("is unknown over too short a time, and never negative", () => {
    expect(rateOf(withSample([], { at: 0, bytes: 5 }))).toBeUndefined();
    expect(
      rateOf([
        { at: 0, bytes: 10 },
        { at: 2_000, bytes: 0 },
      ]),
    ).toBe(0);
  });
});

describe("the progress of a download", () => {
  test("shows bytes, the rate, the time left, and the number of interruptions", () => {
    const event = progressEvent({ done: 42_000_000, total: 100_000_000, rate: 310_000, cuts: 4 }, 0);
    expect(event).toEqual({
      status: "Running",
      step: "pulling",
      message: "Pulling image: 42% (42.0 of 100.0 MB, 310 kB/s, 3 min left, the link was cut 4 times).",
      progress: 42,
      bytes: { done: 42_000_000, total: 100_000_000 },
      details: { bytes_per_second: 310_000, seconds_left: 188, cuts: 4 },
    });
  });

  test("omits values that are not known yet", () => {
    expect(progressEvent({ done: 1, total: 4, rate: undefined, cuts: 0 }, 0, "release").message).toMatch(
      /^Pulling release: 25%/,
    );
    const { message, details } = progressEvent({ done: 0, total: 5_000_000, rate: undefined, cuts: 0 }, 0);
    expect(message).toBe("Pulling image: 0% (0.0 of 5.0 MB).");
    expect(details).toEqual({ cuts: 0 });
  });

  test("never goes back, and never beyond the end", () => {
    const view = fc.record({ done: fc.nat(2_000), total: fc.integer({ min: 1, max: 1_000 }), cuts: fc.nat(5) });
    fc.assert(
      fc.property(view, fc.nat(100), fc.double({ min: 0, max: 1e9, noNaN: true }), (seen, least, rate) => {
        const { progress } = progressEvent({ ...seen, rate }, least);
        expect(progress).toBeGreaterThanOrEqual(least);
        expect(progress).toBeLessThanOrEqual(100);
      }),
    );
  });

  test.each([
    [20_000_000, 0, "The image is on the device: 20.0 MB were received."],
    [29_900, 1, "The image is on the device: 29.9 kB were received; the link was cut once."],
  ])("ends with what it took, %i bytes after %i cuts", (received, cuts, message) => {
    expect(summaryEvent({ received, cuts }).message).toBe(message);
  });

  test.each([
    [9_100, 29_900, "9.1 of 29.9 kB"],
    [3_100_000, 91_000_000, "3.1 of 91.0 MB"],
  ])("goes on at %i of %i bytes, in the unit of the whole", (done, total, text) => {
    expect(resumeEvent(done, total).message).toBe(`Going on where the download stopped, at ${text}.`);
  });
});
