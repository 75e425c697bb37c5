import { expect, test } from "vitest";
import { hintFor } from "../../../src/edgectl/hints.ts";
import { ERRORS, errorEntry, isErrorCode } from "../../../src/protocol/errors/errors.ts";

// The same codes end updates, restarts and removals.
test.each(Object.keys(ERRORS))("the advice for %s is not to deploy again", (code) => {
  expect(hintFor(code)).not.toMatch(/deploy(?: it)? again/i);
  expect(isErrorCode(code) && errorEntry(code).hint).not.toMatch(/deploy(?: it)? again/i);
});

test("a code that is the name of a method of objects has no hint", () => {
  expect(hintFor("toString")).toBeUndefined();
});

test.each(["CrashLoopBackOff", "Unhealthy"])("the advice for %s leaves it to the message what still runs", (code) => {
  expect(hintFor(code)).not.toContain("left running");
});

test.each([
  [{ reason: "credentials" }, /sim-operator check/],
  [{ reason: "throttled", retry_after_s: 1800 }, /pause of 30 min/],
  [
    { reason: "unavailable", changed: [], not_changed: ["supersim.status"] },
    /repeat the update.*try again in a minute/,
  ],
  [{ sim_type: "supersim" }, /log of the service/],
  [{ reason: "toString" }, /log of the service/],
])("the advice for an operator that failed fits the reason: %j", (details, hint) => {
  expect(hintFor("SimOperatorFailed", details)).toMatch(hint);
});
