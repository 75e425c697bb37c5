import { expect, test } from "vitest";
import { Pauses } from "../../../../../src/control-plane/sim-operator/http/pauses.ts";
import { askedPause } from "../../../../../src/control-plane/sim-operator/http/read-response.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";

const MINUTE = 60_000;

test("pauses without a time grow from a second to a quarter of an hour, and begin anew after a call that was taken", async () => {
  const clock = new FakeClock();
  const pauses = new Pauses(clock);
  const found: number[] = [];
  for (let number = 0; number < 12; number++) {
    found.push(pauses.begin(undefined));
    await clock.advance(pauses.remainingMs);
    expect(pauses.remainingMs).toBe(0);
  }
  expect(found.slice(0, 4)).toEqual([1_000, 2_000, 4_000, 8_000]);
  expect(found.slice(-2)).toEqual([15 * MINUTE, 15 * MINUTE]);
  pauses.end();
  expect(pauses.begin(undefined)).toBe(1_000);
});

test("four calls that are refused at the same time are one pause", async () => {
  const clock = new FakeClock();
  const pauses = new Pauses(clock);
  expect([1, 2, 3, 4].map(() => pauses.begin(undefined))).toEqual([1_000, 1_000, 1_000, 1_000]);
  await clock.advance(1_000);
  expect(pauses.begin(undefined)).toBe(2_000);
});

test("the longest pause that was asked for counts", () => {
  const pauses = new Pauses(new FakeClock());
  expect(pauses.begin(60 * MINUTE)).toBe(60 * MINUTE);
  expect(pauses.begin(MINUTE)).toBe(60 * MINUTE);
  expect(pauses.begin(undefined)).toBe(60 * MINUTE);
});

test.each([
  ["120", 120_000],
  ["0", 0],
  [" 3 ", 3_000],
  ["999999999", 24 * 60 * MINUTE],
  ["Thu, 01 Jan 2026 00:01:00 GMT", MINUTE],
  ["Wed, 31 Dec 2025 00:00:00 GMT", 0],
  ["soon", undefined],
  ["1.5e9999", undefined],
  ["", undefined],
  [null, undefined],
])("Retry-After: %s is %s ms", (header, ms) => {
  const response = new Response(null, { headers: header === null ? {} : { "retry-after": header } });
  expect(askedPause(response, Date.UTC(2026, 0, 1))).toBe(ms);
});
