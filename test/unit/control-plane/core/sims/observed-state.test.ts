import { expect, test } from "vitest";
import { afterChange, afterCheck, followUpPauseMs } from "../../../../../src/control-plane/core/sims/observed-state.ts";

const STATE = { status: "active", networkGroup: "default_1gb" } as const;
const SETTLED = { status: "active", networkGroup: "default_1gb", isScheduled: false } as const;
const SCHEDULED = { status: undefined, networkGroup: "default_1gb", isScheduled: true } as const;

test("what is confirmed takes the place of what was pending", () => {
  const before = { ...STATE, pending: { status: "inactive", since: 1 } } as const;
  expect(afterChange(before, { status: "active" }, SETTLED, 2)).toEqual(STATE);
  expect(afterCheck(before, SETTLED, 2)).toEqual(STATE);
});

test("what is queued is pending, beside what was queued before", () => {
  const once = afterChange(STATE, { networkGroup: "default_10gb" }, SCHEDULED, 5);
  expect(once).toEqual({ ...STATE, pending: { networkGroup: "default_10gb", since: 5 } });
  const twice = afterChange(once, { status: "inactive" }, SCHEDULED, 8);
  expect(twice.pending).toEqual({ networkGroup: "default_10gb", status: "inactive", since: 8 });
  const contradicted = afterChange(twice, { status: "active" }, SCHEDULED, 9);
  expect(contradicted.pending).toEqual({ networkGroup: "default_10gb", status: "active", since: 9 });
});

test("while it is queued the state is the one confirmed last, and since when stays", () => {
  const before = { ...STATE, pending: { status: "inactive", since: 1 } } as const;
  expect(afterCheck(before, SCHEDULED, 100)).toEqual(before);
  expect(afterCheck(STATE, SCHEDULED, 100)).toEqual({ ...STATE, pending: { since: 100 } });
});

test("a status that nobody knows leaves the state, also where a change was taken", () => {
  const odd = { ...SETTLED, status: undefined };
  expect(afterCheck(STATE, odd, 1)).toEqual(STATE);
  expect(afterChange(STATE, { status: "inactive" }, odd, 1)).toEqual({ ...STATE, status: "inactive" });
});

test("the network group of a PRO SIM stays none", () => {
  const state = { status: "active", networkGroup: undefined } as const;
  expect(afterCheck(state, SETTLED, 1)).toEqual(state);
});

test("pauses of follow-ups grow from 10 seconds to a quarter of an hour", () => {
  const pauses = [0, 5, 10, 20, 40, 900, 90_000].map((age) => followUpPauseMs({ since: 1_000 }, (1_000 + age) * 1000));
  expect(pauses).toEqual([10, 10, 10, 20, 40, 900, 900].map((seconds) => seconds * 1000));
});
