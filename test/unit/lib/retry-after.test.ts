import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseRetryAfter } from "../../../src/lib/retry-after.ts";

const NOW = Date.UTC(2026, 10, 20, 12, 0, 0);
const httpDate = (ms: number): string => new Date(ms).toUTCString();

describe("Retry-After", () => {
  it("takes seconds", () => {
    expect(parseRetryAfter("120", undefined, NOW)).toBe(120_000);
    expect(parseRetryAfter(" 0 ", undefined, NOW)).toBe(0);
  });

  it("takes a date, from the sender's own clock where it is told", () => {
    fc.assert(
      fc.property(fc.nat({ max: 1e9 }), fc.integer({ min: 0, max: 4e9 }), (seconds, sentAtSeconds) => {
        const sentAt = sentAtSeconds * 1000;
        const value = httpDate(sentAt + seconds * 1000);
        expect(parseRetryAfter(value, httpDate(sentAt), NOW)).toBe(seconds * 1000);
        expect(parseRetryAfter(value, undefined, sentAt)).toBe(seconds * 1000);
        expect(parseRetryAfter(value, "yesterday", sentAt)).toBe(seconds * 1000);
      }),
    );
  });

  it("takes a date that has passed for now", () => {
    expect(parseRetryAfter(httpDate(NOW - 5_000), undefined, NOW)).toBe(0);
  });

  it.each(["", " ", "-5", "1.5", "1e3", "0x10", "soon", "12345678901234567890", "Infinity"])(
    "takes %j for no answer",
    (value) => {
      expect(parseRetryAfter(value, undefined, NOW)).toBeUndefined();
    },
  );

  it("never yields anything but a time from now on, or nothing", () => {
    fc.assert(
      fc.property(fc.string(), fc.option(fc.string(), { nil: undefined }), (value, date) => {
        const wait = parseRetryAfter(value, date, NOW);
        if (wait !== undefined) expect(wait).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});
