import fc from "fast-check";
import { expect, test } from "vitest";
import { isCertificateExpiring, isDiskLow } from "../../../../../src/control-plane/core/alerts/service-troubles.ts";

const GIB = 1024 ** 3;
const DAY_MS = 86_400_000;
const NOW = 1_800_000_000_000;

test.each([
  [8, 1, false],
  [8, 0.7, true],
  [1, 0.45, true],
  [1000, 90, false],
  [1000, 19, true],
])("a disk of %s GiB with %s GiB free: low is %s", (total, free, low) => {
  expect(isDiskLow({ totalBytes: total * GIB, freeBytes: free * GIB })).toBe(low);
});

test("more free space never makes a disk low", () => {
  const bytes = fc.integer({ min: 0, max: 2 ** 50 });
  fc.assert(
    fc.property(bytes, bytes, bytes, (totalBytes, one, other) => {
      const [less, more] = [Math.min(one, other), Math.max(one, other)];
      expect(isDiskLow({ totalBytes, freeBytes: more }) && !isDiskLow({ totalBytes, freeBytes: less })).toBe(false);
    }),
  );
});

test("a certificate is told of for 14 days, and after its end", () => {
  const told = [90, 14, 13.9, 0, -3].map((days) => isCertificateExpiring(NOW + days * DAY_MS, NOW));
  expect(told).toEqual([false, false, true, true, true]);
});
