import { expect, test } from "vitest";
import { hintFor } from "../../../src/edgectl/hints.ts";
import { ERRORS, errorEntry, isErrorCode } from "../../../src/protocol/errors.ts";

// The same codes end updates, restarts and removals.
test.each(Object.keys(ERRORS))("the advice for %s is not to deploy again", (code) => {
  expect(hintFor(code)).not.toMatch(/deploy(?: it)? again/i);
  expect(isErrorCode(code) && errorEntry(code).hint).not.toMatch(/deploy(?: it)? again/i);
});

test.each(["CrashLoopBackOff", "Unhealthy"])("the advice for %s leaves it to the message what still runs", (code) => {
  expect(hintFor(code)).not.toContain("left running");
});
