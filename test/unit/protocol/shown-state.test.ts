import { expect, test } from "vitest";
import { hasFinished } from "../../../src/agent/core/app/app-state.ts";
import { shownState } from "../../../src/protocol/apps/shown-state.ts";

const POLICIES = ["no", "on-failure", "always", "unless-stopped", undefined] as const;
const ENDED = { state: "stopped", desired_state: "running", last_exit: { code: 0 }, spec: { restart_policy: "no" } };

test.each(POLICIES.flatMap((policy) => [0, 1, 137].map((code) => [policy, code] as const)))(
  "an app with the policy %s that ended with %i is shown as the device's own commands show it",
  (policy, code) => {
    const app = { ...ENDED, last_exit: { code }, spec: { restart_policy: policy } };
    const isFinished = hasFinished({ status: "exited", exitCode: code }, policy);
    expect(shownState(app)).toBe(isFinished ? "finished" : "stopped");
  },
);

test("one that was told to stop, that runs, or of which the end is not known, is shown as reported", () => {
  expect(shownState({ ...ENDED, desired_state: "stopped" })).toBe("stopped");
  expect(shownState({ ...ENDED, state: "restarting" })).toBe("restarting");
  expect(shownState({ ...ENDED, last_exit: undefined })).toBe("stopped");
});
