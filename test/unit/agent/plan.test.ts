import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { containerName } from "../../../src/agent/core/app/container.ts";
import { newRecord } from "../../../src/agent/core/records.ts";
import { nextStep } from "../../../src/agent/core/deployment/plan.ts";
import { parseAppSpec } from "../../../src/protocol/apps/app-spec.ts";
import { deploymentActionSchema } from "../../../src/protocol/deployments/deployment-action.ts";
import { STEP_FAULTS, type StepFault, simulatePlan } from "../../support/plan-simulation.ts";

const parsed = parseAppSpec({ name: "app", image: "example/app:1" });
if (!parsed.ok) throw parsed.error;
const { spec } = parsed;

// A group has no steps of its own.
const ACTIONS = deploymentActionSchema.exclude(["apply", "update_agent"]).options;
const mishaps = fc.array(fc.constantFrom<StepFault>("none", "none", ...STEP_FAULTS), { maxLength: 40 });

/** Nothing that this agent does not do itself. */
const ownMishaps = fc.array(
  fc.constantFrom<StepFault>("none", "none", "crash_before_store", "step_fails", "cancel", "reboot"),
  { maxLength: 40 },
);

describe("plan", () => {
  it.each([
    ["deploy", ["check", "resolve", "pull", "create", "start", "verify", "succeed"]],
    ["update", ["check", "resolve", "pull", "create", "try", "switch", "verify", "commit", "clean", "succeed"]],
    ["remove", ["stop", "clean", "succeed"]],
    ["stop", ["stop", "succeed"]],
    ["start", ["verify", "succeed"]],
    ["restart", ["try", "stop", "start", "verify", "succeed"]],
  ] as const)("%s goes straight through when nothing happens", (action, steps) => {
    expect(simulatePlan(action, spec).steps).toEqual(steps);
  });

  it.each([
    ["deploy", ["check", "resolve", "fetch", "pull", "create", "start", "verify", "succeed"]],
    [
      "update",
      ["check", "resolve", "fetch", "pull", "create", "try", "switch", "verify", "commit", "clean", "succeed"],
    ],
  ] as const)("%s fetches contents of files before it pulls, whatever happens", (action, steps) => {
    const fetches = [{ sha256: "a", size: 2, upload: { sha256: "b", bytes: 1 } }];
    expect(simulatePlan(action, spec, [], "running", fetches).steps).toEqual(steps);
    fc.assert(
      fc.property(ownMishaps, (list) => {
        const { record, steps: taken } = simulatePlan(action, spec, list, "running", fetches);
        expect(record.outcome).not.toBe("pending");
        if (taken.includes("create") && !record.failure) expect(taken).toContain("fetch");
      }),
    );
  });

  it.each([
    ["update", ["check", "resolve", "pull", "create", "switch", "commit", "clean", "succeed"]],
    ["remove", ["clean", "succeed"]],
    ["stop", ["succeed"]],
    ["start", ["start", "verify", "succeed"]],
    ["restart", ["start", "verify", "succeed"]],
  ] as const)("%s of an app that is stopped", (action, steps) => {
    const { installed, steps: taken, containers } = simulatePlan(action, spec, [], "stopped");
    expect(taken).toEqual(steps);
    if (action === "remove") return;
    const isRunning = action === "start" || action === "restart";
    expect(installed?.desired).toBe(isRunning ? "running" : "stopped");
    expect(containers.map(({ running }) => running)).toEqual([isRunning]);
  });

  it.each(ACTIONS)("%s always comes to an end, and reports once and last", (action) => {
    fc.assert(
      fc.property(mishaps, (list) => {
        const { record, steps } = simulatePlan(action, spec, list);
        expect(record.outcome).not.toBe("pending");
        expect(steps.filter((kind) => kind === "succeed" || kind === "fail")).toHaveLength(1);
        expect(["succeed", "fail"]).toContain(steps.at(-1));
      }),
    );
  });

  it("leaves nothing behind after a deployment fails, and exactly one running app after it succeeds", () => {
    fc.assert(
      fc.property(ownMishaps, (list) => {
        const { record, containers, steps } = simulatePlan("deploy", spec, list);
        if (record.outcome === "failed") expect(containers).toEqual([]);
        else if (list[steps.length - 1] !== "reboot") expect(containers.map(({ running }) => running)).toEqual([true]);
      }),
    );
  });

  it("ends an update with exactly one version under the app's name: the new one, or the one that was there before", () => {
    fc.assert(
      fc.property(ownMishaps, fc.constantFrom("running", "stopped"), (list, desired) => {
        const { record, containers, steps, installed } = simulatePlan("update", spec, list, desired);
        const version = record.outcome === "succeeded" ? "d1" : "d0";
        // The reconciler handles what cannot be restored at once, names included, and an app that stops after the commit.
        if (record.rollbackFailure) return;
        expect(containers.map(({ deploymentId }) => deploymentId)).toEqual([version]);
        expect(installed).toMatchObject({ deploymentId: version, containerId: containers[0]?.id, desired });
        const isApp = record.outcome === "succeeded" ? steps.indexOf("commit") : steps.length - 1;
        if (list.slice(isApp, steps.length).includes("reboot")) return;
        expect(containers[0]?.name).toBe(containerName("app"));
        const wasTouched = steps.includes("switch");
        const wasDown = list.slice(0, steps.length).includes("reboot");
        if (wasTouched || !wasDown) expect(containers[0]?.running).toBe(desired === "running");
      }),
      { numRuns: 500 },
    );
  });

  it("does not touch the version that runs before every check has passed and the new one is there", () => {
    fc.assert(
      fc.property(ownMishaps, (list) => {
        const { steps, stepsWithoutContainer } = simulatePlan(
          "update",
          spec,
          list.filter((mishap) => mishap !== "reboot"),
        );
        const touched = steps.indexOf("switch");
        if (touched === -1) expect(stepsWithoutContainer).toBe(0);
        else expect(steps.slice(0, touched)).toEqual(expect.arrayContaining(["check", "resolve", "pull", "create"]));
      }),
    );
  });

  it("brings back what a removal, a stop or a start that fails has changed", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("remove", "stop", "start", "restart"),
        fc.constantFrom("running", "stopped"),
        ownMishaps,
        (action, desired, list) => {
          const { record, containers, steps, installed } = simulatePlan(action, spec, list, desired);
          if (record.outcome !== "failed" || record.rollbackFailure) return;
          expect(installed).toMatchObject({ deploymentId: "d0", desired });
          if (list.slice(0, steps.length).includes("reboot")) return;
          expect(containers.map(({ running }) => running)).toEqual([desired === "running"]);
        },
      ),
    );
  });

  it("makes the previous version anew where it is gone", () => {
    const list: StepFault[] = ["none", "none", "none", "none", "none", "container_removed", "step_fails"];
    const { record, containers, steps } = simulatePlan("update", spec, list);
    expect(record.outcome).toBe("failed");
    expect(steps).toEqual("check resolve pull create try switch verify clean create start verify fail".split(" "));
    expect(containers).toMatchObject([{ deploymentId: "d0", name: "app", running: true }]);
  });

  it("does not do the work of an app that runs once again because its update failed", () => {
    const once = { ...spec, restart_policy: "no" } as const;
    const list: StepFault[] = ["none", "none", "none", "none", "none", "none", "step_fails"];
    const { steps, containers } = simulatePlan("update", once, list);
    expect(steps).toEqual("check resolve pull create try switch verify clean rename fail".split(" "));
    expect(containers).toMatchObject([{ deploymentId: "d0", name: "app", running: false }]);
  });

  it("takes a committed update back when it is cancelled before its success was told", () => {
    const list: StepFault[] = ["none", "none", "none", "none", "none", "none", "none", "cancel"];
    const { containers, installed, steps } = simulatePlan("update", spec, list);
    expect(steps.slice(-5)).toEqual(["clean", "rename", "start", "verify", "fail"]);
    expect(installed?.deploymentId).toBe("d0");
    expect(containers).toMatchObject([{ deploymentId: "d0", name: "app", running: true }]);
  });

  it("adopts one container and removes surplus ones", () => {
    const record = { ...newRecord("d1", 1, spec), checked: true, imageId: "i" };
    const containers = ["a", "b", "c"].map((id) => ({ id, name: id, deploymentId: "d1", running: false, up: false }));
    const nothing = {
      startedContainerId: undefined,
      verifiedContainerId: undefined,
      stoppedContainerId: undefined,
      source: undefined,
      pullAttempts: 0,
    };
    expect(nextStep(record, { containers, others: [] }, nothing, undefined)).toEqual({
      kind: "clean",
      containerIds: ["b", "c"],
    });
  });
});
