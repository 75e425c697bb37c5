import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { DeploymentRecord, Failure } from "../../../src/agent/core/deployment.ts";
import { newRecord } from "../../../src/agent/core/deployment.ts";
import { type Progress, type Step, nextStep } from "../../../src/agent/core/plan.ts";
import { parseAppSpec } from "../../../src/protocol/app-spec.ts";

const parsed = parseAppSpec({ name: "app", image: "example/app:1" });
if (!parsed.ok) throw parsed.error;
const { spec } = parsed;

const FORGOTTEN: Progress = { startedContainerId: undefined, verifiedContainerId: undefined };
const FAILURE: Failure = { code: "CrashLoopBackOff", message: "it crashed", step: "verifying" };

/** What may befall the agent around one step. */
type Mishap = "none" | "crash_before_store" | "step_fails" | "cancel" | "reboot" | "container_removed";

interface World {
  record: DeploymentRecord;
  stored: DeploymentRecord;
  progress: Progress;
  containers: { id: string; running: boolean }[];
  created: number;
  events: Step["kind"][];
}

function carryOut(world: World, step: Step): Partial<DeploymentRecord> {
  switch (step.kind) {
    case "check":
      return { checked: true };
    case "pull":
      return { imageId: "sha256:1" };
    case "create":
      world.containers.push({ id: `c${++world.created}`, running: false });
      return {};
    case "start":
      world.containers = world.containers.map((c) => (c.id === step.containerId ? { ...c, running: true } : c));
      world.progress = { ...world.progress, startedContainerId: step.containerId };
      return {};
    case "verify":
      world.progress = { ...world.progress, verifiedContainerId: step.containerId };
      return {};
    case "clean":
      world.containers = world.containers.filter(({ id }) => !step.containerIds.includes(id));
      return {};
    case "succeed":
      return { outcome: "succeeded" };
    case "fail":
      return { outcome: "failed" };
  }
}

function play(mishaps: readonly Mishap[]): World {
  const record = newRecord("d1", 1, spec);
  const world: World = { record, stored: record, progress: FORGOTTEN, containers: [], created: 0, events: [] };
  for (let round = 0; round < mishaps.length + 30; round++) {
    const step = nextStep(world.record, { containers: world.containers }, world.progress);
    if (!step) return world;
    world.events.push(step.kind);
    const mishap = mishaps[round] ?? "none";
    const isReport = step.kind === "succeed" || step.kind === "fail";
    if (mishap === "step_fails" && !isReport && step.kind !== "clean") {
      world.record = { ...world.record, failure: world.record.failure ?? FAILURE };
    } else {
      world.record = { ...world.record, ...carryOut(world, step) };
    }
    if (mishap === "cancel" && world.record.outcome === "pending") {
      world.record = { ...world.record, failure: world.record.failure ?? FAILURE };
    }
    if (mishap === "container_removed") world.containers = world.containers.slice(1);
    if (mishap === "crash_before_store" && !isReport) {
      world.record = world.stored;
      world.progress = FORGOTTEN;
    }
    if (mishap === "reboot" && !isReport) {
      world.progress = FORGOTTEN;
      world.containers = world.containers.map((container) => ({ ...container, running: false }));
    }
    world.stored = world.record;
  }
  return world;
}

const mishaps = fc.array(
  fc.constantFrom<Mishap>("none", "none", "crash_before_store", "step_fails", "cancel", "reboot", "container_removed"),
  { maxLength: 40 },
);

describe("plan", () => {
  it("goes straight through when nothing happens", () => {
    expect(play([]).events).toEqual(["check", "pull", "create", "start", "verify", "succeed"]);
  });

  it("always comes to an end, whatever happens on the way", () => {
    fc.assert(
      fc.property(mishaps, (list) => {
        expect(play(list).record.outcome).not.toBe("pending");
      }),
    );
  });

  it("reports exactly once, and last", () => {
    fc.assert(
      fc.property(mishaps, (list) => {
        const { events } = play(list);
        expect(events.filter((kind) => kind === "succeed" || kind === "fail")).toHaveLength(1);
        expect(["succeed", "fail"]).toContain(events.at(-1));
      }),
    );
  });

  it("leaves nothing behind after a failure and exactly one running app after a success", () => {
    fc.assert(
      fc.property(mishaps, (list) => {
        const { record, containers, events } = play(list);
        if (record.outcome === "failed") {
          expect(containers).toEqual([]);
        } else if (list[events.length - 1] !== "container_removed") {
          expect(containers.map(({ running }) => running)).toEqual([true]);
        }
      }),
    );
  });

  it("adopts one container and removes surplus ones", () => {
    const record = { ...newRecord("d1", 1, spec), checked: true, imageId: "i" };
    const containers = ["a", "b", "c"].map((id) => ({ id, running: false }));
    expect(nextStep(record, { containers }, FORGOTTEN)).toEqual({ kind: "clean", containerIds: ["b", "c"] });
  });
});
