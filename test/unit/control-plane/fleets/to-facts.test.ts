import { expect, test } from "vitest";
import { toFacts } from "../../../../src/control-plane/fleets/to-facts.ts";
import type { DeploymentStep } from "../../../../src/protocol/deployments/deployment-event.ts";
import { aDeployment, aTarget, facts, NOW } from "../../../support/fleets/records.ts";

/** When a deployment is put off until, whose last event says that the device waits for 900 s. */
function putOffUntil(step: DeploymentStep): number | undefined {
  const event = {
    status: "Running",
    step,
    deployment_id: "dep_1",
    seq: 6,
    timestamp: NOW / 1000,
    message: "Waiting.",
    details: { waiting_s: 900 },
  };
  const { putOffUntilMs: _none, message: _text, ...stored } = aDeployment({ status: "Running" });
  const read = {
    target: aTarget(),
    facts: facts(),
    deployment: { ...stored, lastEvent: JSON.stringify(event) },
    assetType: "gateway",
    tags: new Map(),
    variableNames: new Set<string>(),
  };
  return toFacts(read, { selector: [], neededVariables: [] }).deployment?.putOffUntilMs;
}

test("a download that waits for its hours or its budget is put off", () => {
  expect([putOffUntil("pulling"), putOffUntil("received")]).toEqual([NOW + 900_000, NOW + 900_000]);
});

test("a trial of the agent, and an app that is to become healthy, are at work", () => {
  expect([putOffUntil("starting"), putOffUntil("verifying")]).toEqual([undefined, undefined]);
});
