import { expect, test } from "vitest";
import {
  decideRepair,
  MAX_REPAIRS,
  NO_REPAIRS,
  type Repairs,
  repairsAfter,
} from "../../../../../src/control-plane/core/fleets/repair.ts";
import { NOW } from "../../../../support/fleets/records.ts";

const fleet = { onDrift: "repair", stableRevision: 2, pausedReason: undefined } as const;
const drifted = { state: "drifted" } as const;

test.each([
  ["a fleet that only reports", { ...fleet, onDrift: "report" as const }, drifted, false],
  ["a paused fleet", { ...fleet, pausedReason: "backup" }, drifted, false],
  ["a fleet without a stable revision", { ...fleet, stableRevision: undefined }, drifted, false],
  ["a member that was stopped by hand", fleet, { state: "stopped_by_hand" } as const, false],
  ["a member on hold", fleet, { state: "held" } as const, false],
  ["a member that is served already", fleet, drifted, true],
])("%s is not repaired", (_name, of, judgement, isUnderWay) => {
  expect(decideRepair(of, judgement, NO_REPAIRS, isUnderWay, NOW)).toEqual({ kind: "none" });
});

test("a member whose drift comes back at once is repaired after longer and longer pauses, and then left alone", () => {
  const pausesMs: number[] = [];
  let repairs: Repairs = NO_REPAIRS;
  let nowMs = NOW;
  for (;;) {
    const decision = decideRepair(fleet, drifted, repairs, false, nowMs);
    if (decision.kind === "given_up") break;
    if (decision.kind === "later") {
      pausesMs.push(decision.atMs - nowMs);
      nowMs = decision.atMs;
    }
    if (decision.kind === "repair") repairs = decision.repairs;
  }
  expect(repairs.count).toBe(MAX_REPAIRS);
  expect(pausesMs.map((ms) => ms / 60_000)).toEqual([5, 20, 80, 320, 1280]);
});

test("a member that was current for a day begins anew", () => {
  const repairs = { count: 4, lastAtMs: NOW - 1 };
  const day = 24 * 3_600_000;
  expect(repairsAfter(repairs, { state: "current", sinceMs: NOW - day }, NOW)).toEqual(NO_REPAIRS);
  expect(repairsAfter(repairs, { state: "current", sinceMs: NOW - day + 1 }, NOW)).toEqual(repairs);
  expect(repairsAfter(repairs, { state: "held", sinceMs: 0 }, NOW)).toEqual(repairs);
});
