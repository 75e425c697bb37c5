import fc from "fast-check";
import { expect, test } from "vitest";
import { ledgerInRange, mergeLedger } from "../../../../src/control-plane/core/device-ledger.ts";
import { utcDay } from "../../../../src/control-plane/core/utc-days.ts";
import type { DeviceDataUsage } from "../../../../src/protocol/link/data-usage.ts";
import { someLedgerDay } from "../../../support/control-plane/device-samples.ts";

const ledger = (days: DeviceDataUsage["days"], ids: readonly string[] = []): DeviceDataUsage => ({
  days,
  deployments: ids.map((id) => ({
    deployment_id: id,
    app: "web",
    day: "2026-11-01",
    sent_bytes: 0,
    received_bytes: 1,
  })),
  budget: null,
});

const dayText = fc.integer({ min: 0, max: 3_000 }).map((day) => utcDay(1_600_000_000 + day * 86_400));

test("for every sequence of answers each day is stored once, with its last value, in order, and at most 400 days", () => {
  const tellings = fc.array(fc.uniqueArray(dayText, { maxLength: 400 }), { maxLength: 6 });
  fc.assert(
    fc.property(tellings, (told) => {
      let held: DeviceDataUsage | undefined;
      for (const [index, days] of told.entries()) {
        held = mergeLedger(held, ledger(days.map((day) => someLedgerDay(day, index))));
      }
      const days = held?.days.map(({ day }) => day) ?? [];
      expect(days).toEqual([...new Set(told.flat())].toSorted().slice(-400));
      for (const day of held?.days ?? []) {
        const last = told.findLastIndex((each) => each.includes(day.day));
        expect(day).toEqual(someLedgerDay(day.day, last));
      }
    }),
    { numRuns: 50 },
  );
});

test("deployments are stored once each, up to a limit", () => {
  const first = mergeLedger(undefined, ledger([], ["a", "b"]));
  expect(mergeLedger(first, ledger([], ["b", "c"])).deployments.map((each) => each.deployment_id)).toEqual([
    "a",
    "b",
    "c",
  ]);
  const many = mergeLedger(
    first,
    ledger(
      [],
      Array.from({ length: 600 }, (_, index) => `d${index}`),
    ),
  );
  expect(many.deployments).toHaveLength(500);
});

test("a range includes both of its days", () => {
  const days = ["2026-11-01", "2026-11-02", "2026-11-03", "2026-11-04"].map((day) => someLedgerDay(day, 1));
  const part = ledgerInRange(ledger(days, ["a"]), { from: "2026-11-02", to: "2026-11-03" });
  expect(part.days).toEqual(days.slice(1, 3));
  expect(part.deployments).toEqual([]);
  expect(ledgerInRange(undefined, { from: "2026-11-02", to: "2026-11-03" })).toEqual({
    days: [],
    deployments: [],
    budget: null,
  });
});
