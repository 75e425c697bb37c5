import { oldVersionName, newVersionName, containerName } from "../../src/agent/core/app/container.ts";
import {
  type AppRecord,
  type DeploymentRecord,
  type Failure,
  newApp,
  newRecord,
} from "../../src/agent/core/records.ts";
import { nextStep } from "../../src/agent/core/deployment/plan.ts";
import type { RunProgress, Step } from "../../src/agent/core/deployment/step.ts";
import { beginsTouching } from "../../src/agent/core/deployment/rollback.ts";
import { isRecordStep, toRecordChange } from "../../src/agent/steps/table.ts";
import type { AppSpec } from "../../src/protocol/apps/app-spec.ts";
import type { DeploymentAction } from "../../src/protocol/deployments/deployment-action.ts";

const EMPTY_PROGRESS: RunProgress = {
  startedContainerId: undefined,
  verifiedContainerId: undefined,
  stoppedContainerId: undefined,
  source: undefined,
  pullAttempts: 0,
};
const FAILURE: Failure = { code: "CrashLoopBackOff", message: "it crashed", step: "verifying" };
const CANCELLED: Failure = { code: "DeploymentCancelled", message: "enough", step: "done" };

/** Faults around one step. */
export const STEP_FAULTS = [
  "none",
  "crash_before_store",
  "step_fails",
  "cancel",
  "reboot",
  "container_removed",
] as const;
export type StepFault = (typeof STEP_FAULTS)[number];

export interface Container {
  readonly id: string;
  name: string;
  readonly deploymentId: string;
  running: boolean;
}

export interface PlanSimulation {
  record: DeploymentRecord;
  installed: AppRecord | undefined;
  containers: Container[];
  readonly steps: Step["kind"][];
  /** Number of steps without a running container. */
  stepsWithoutContainer: number;
}

/** Runs a deployment by its plan alone. `faults` holds the fault of each round. */
export function simulatePlan(
  action: DeploymentAction,
  spec: AppSpec,
  faults: readonly StepFault[] = [],
  desired: AppRecord["desired"] = "running",
  fetches?: DeploymentRecord["fetches"],
): PlanSimulation {
  const old = {
    ...newApp({ ...spec, image: "example/app:0" }, { deploymentId: "d0", imageId: "i0", containerId: "c0" }),
  };
  const previous = action === "deploy" ? undefined : { ...old, desired };
  const record = { ...newRecord("d1", 1, spec), action, app: spec.name, previous, ...(fetches && { fetches }) };
  const simulation: PlanSimulation = {
    record,
    installed: previous,
    containers: [],
    steps: [],
    stepsWithoutContainer: 0,
  };
  if (previous) {
    const running = desired === "running";
    simulation.containers.push({ id: "c0", name: containerName(spec.name), deploymentId: "d0", running });
  }
  let progress = EMPTY_PROGRESS;
  let stored = record as DeploymentRecord;
  for (let round = 0; round < faults.length + 60; round++) {
    const observed = simulation.containers.map((container) => ({ ...container, up: container.running }));
    const containers = observed.filter(({ deploymentId }) => deploymentId === "d1");
    const others = previous ? observed.filter(({ deploymentId }) => deploymentId !== "d1") : [];
    const step = nextStep(simulation.record, { containers, others }, progress, simulation.installed);
    if (!step) return simulation;
    simulation.steps.push(step.kind);
    const fault = faults[round] ?? "none";
    if (isRecordStep(step)) {
      const { record: change, app, removedApp } = toRecordChange(step, simulation.record, 0);
      simulation.record = { ...simulation.record, ...change };
      if (app) simulation.installed = app;
      if (removedApp !== undefined) simulation.installed = undefined;
    } else {
      // Stored before the step has any effect.
      simulation.record = stored = beginsTouching(simulation.record, step)
        ? { ...simulation.record, touched: true }
        : simulation.record;
      if (fault === "step_fails" && step.kind !== "clean") {
        const failure = simulation.record.failure ? { rollbackFailure: FAILURE } : { failure: FAILURE };
        simulation.record = { ...simulation.record, ...failure };
      } else {
        simulation.record = { ...simulation.record, ...applyStep(simulation, step, round) };
        progress = progressAfter(step, progress);
      }
    }
    if (fault === "cancel" && simulation.record.outcome === "pending" && !simulation.record.failure) {
      simulation.record = { ...simulation.record, failure: CANCELLED };
    }
    if (fault === "container_removed") simulation.containers = simulation.containers.slice(1);
    if (fault === "crash_before_store" && !isRecordStep(step)) {
      simulation.record = stored;
      progress = EMPTY_PROGRESS;
    }
    if (fault === "reboot") {
      progress = EMPTY_PROGRESS;
      for (const container of simulation.containers) container.running = false;
    }
    if (!simulation.containers.some(({ running }) => running)) simulation.stepsWithoutContainer++;
    stored = simulation.record;
  }
  return simulation;
}

function applyStep(simulation: PlanSimulation, step: Step, round: number): Partial<DeploymentRecord> {
  const find = (id: string): Container | undefined => simulation.containers.find((container) => container.id === id);
  const change = (id: string, fields: Partial<Container>): void => {
    const container = find(id);
    if (!container) return;
    if (
      fields.name !== undefined &&
      simulation.containers.some((other) => other !== container && other.name === fields.name)
    )
      throw new Error(`two containers named ${fields.name}`);
    Object.assign(container, fields);
  };
  switch (step.kind) {
    case "check":
      return { checked: true };
    case "fetch":
      return { fetches: undefined };
    case "pull":
      return { imageId: "i1" };
    case "create": {
      const { spec, place, deploymentId } = step;
      const name = place === "new_version" ? newVersionName(spec.name) : containerName(spec.name);
      if (simulation.containers.some((other) => other.name === name)) throw new Error(`two containers named ${name}`);
      simulation.containers.push({ id: `c${round + 1}`, name, deploymentId, running: false });
      return {};
    }
    case "switch": {
      const name = containerName(step.spec.name);
      const holder = step.others.find((other) => other.name === name);
      if (holder) change(holder.id, { name: oldVersionName(step.spec.name) });
      change(step.container.id, { name });
      for (const { id } of step.others) change(id, { running: false });
      if (step.start) change(step.container.id, { running: true });
      return {};
    }
    case "rename":
      change(step.containerId, { name: containerName(step.app) });
      return {};
    case "stop":
      for (const id of step.containerIds) change(id, { running: false });
      return {};
    case "start":
      change(step.containerId, { running: true });
      return {};
    case "clean":
      simulation.containers = simulation.containers.filter(({ id }) => !step.containerIds.includes(id));
      return {};
    // Only a repair connects.
    case "connect":
    case "resolve":
    case "try":
    case "verify":
    case "report_cost":
    case "commit":
    case "revert":
    case "succeed":
    case "fail":
      return {};
  }
}

function progressAfter(step: Step, progress: RunProgress): RunProgress {
  if (step.kind === "switch") return step.start ? { ...progress, startedContainerId: step.container.id } : progress;
  if (step.kind === "start") {
    return { ...progress, startedContainerId: step.containerId, stoppedContainerId: undefined };
  }
  if (step.kind === "resolve") {
    return {
      ...progress,
      source: { kind: "engine", before: undefined, error: { kind: "registry_unreachable", message: "" } },
    };
  }
  if (step.kind === "try") return { ...progress, isTried: true };
  if (step.kind === "verify") return { ...progress, verifiedContainerId: step.containerId };
  if (step.kind !== "stop") return progress;
  return { ...progress, stoppedContainerId: step.containerIds.at(-1), startedContainerId: undefined };
}
