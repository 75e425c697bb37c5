import { expect, test } from "vitest";
import { ConcurrencyLimiter } from "../../../../../src/lib/concurrency-limiter.ts";

test("each key has as many leases as the limit, and a lease is returned once", () => {
  const slots = new ConcurrencyLimiter(2, "enough");
  const first = slots.acquire("a");
  slots.acquire("a");
  slots.acquire("b");
  expect(() => slots.acquire("a")).toThrow("enough");
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  slots.acquire("a");
  expect(() => slots.acquire("a")).toThrow(expect.objectContaining({ code: "TooManyRequests", details: { limit: 2 } }));
});
