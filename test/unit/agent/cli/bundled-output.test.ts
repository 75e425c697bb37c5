import { expect, it } from "vitest";
import type { AppFacts } from "../../../../src/agent/local/api.ts";
import { withoutQuotes, withoutUnmaskableOutput } from "../../../../src/agent/cli/bundled-output.ts";

const DETAILS = { exit_code: 3, logs: ["planted"], output: "planted" };
const EVENT = { status: "Fail", step: "verifying", message: "It stopped.", at: 1, details: DETAILS } as const;

const facts = {
  name: "web",
  container: { id: "c1", health_output: "planted" },
  last_deployment: { kind: "deployment", id: "d1", events: [{ ...EVENT }, { ...EVENT, details: undefined }] },
  log: ["planted", "more"],
} as unknown as AppFacts;

it("what an event quotes of an app's output is left out of the support bundle, and nothing else", () => {
  const activity = { kind: "event", app: "web", deployment_id: "d1", origin: "local", ...EVENT } as const;
  expect(withoutQuotes({ ...activity })).toEqual({ ...activity, details: { exit_code: 3 } });
  const repair = { kind: "repair", at: 1, app: "web", reason: "its container was gone" } as const;
  expect(withoutQuotes(repair)).toEqual(repair);
});

it("an app's last output is kept if its values are known, and so masked", () => {
  const kept = withoutUnmaskableOutput(facts, true);
  expect(kept).toMatchObject({ container: { health_output: "planted" }, log: ["planted", "more"] });
  expect(JSON.stringify(kept.last_deployment)).not.toContain("planted");
});

it("and is left out, which is said, if this user cannot read them", () => {
  const left = withoutUnmaskableOutput(facts, false);
  expect(JSON.stringify(left)).not.toContain("planted");
  expect(left.log).toEqual([expect.stringMatching(/^left out: /)]);
  const quiet = { ...facts, container: null, last_deployment: null, log: [] };
  expect(withoutUnmaskableOutput(quiet, false)).toEqual(quiet);
});
