import { updateChange } from "../core/app/app-changes.ts";
import type { Repair } from "../core/deployment/repair.ts";
import type { AppRecord, DeploymentRecord } from "../core/records.ts";
import type { Step, RecordStep } from "../core/deployment/step.ts";
import type { StoreChange } from "../store/store.ts";
import { runCheck } from "./check.ts";
import { runClean, runCleanAndRelease, runRename, runStop } from "./containers.ts";
import type { ContainerStepContext, StepContext, StepResult } from "./context.ts";
import { runCreate } from "./create.ts";
import { runFetch } from "./fetch.ts";
import { runPull, runResolve } from "./images.ts";
import { runConnect } from "./networks.ts";
import { runStart } from "./start.ts";
import { runSwitch } from "./switch.ts";
import { runTry } from "./try-start.ts";
import { runVerify } from "./verify.ts";

/** Steps that act on the device. */
export type DeviceStep = Exclude<Step, RecordStep>;

type Executors<S extends DeviceStep, Context> = {
  readonly [K in S["kind"]]: (context: Context, step: Extract<S, { kind: K }>) => Promise<StepResult>;
};

const REPAIR_EXECUTORS: Executors<Repair["step"], ContainerStepContext> = {
  create: runCreate,
  rename: runRename,
  stop: runStop,
  start: runStart,
  clean: runClean,
  connect: runConnect,
};

/** Every step has its executor: one that is missing does not compile. */
const EXECUTORS: Executors<DeviceStep, StepContext> = {
  ...REPAIR_EXECUTORS,
  clean: runCleanAndRelease,
  check: runCheck,
  resolve: runResolve,
  fetch: runFetch,
  pull: runPull,
  try: runTry,
  switch: runSwitch,
  verify: runVerify,
};

/** Executes one step of a deployment. */
export function execute<K extends DeviceStep["kind"]>(
  context: StepContext,
  step: Extract<DeviceStep, { kind: K }>,
): Promise<StepResult> {
  return EXECUTORS[step.kind](context, step);
}

/** Executes one step of a repair. */
export function executeRepair<K extends Repair["step"]["kind"]>(
  context: ContainerStepContext,
  step: Extract<Repair["step"], { kind: K }>,
): Promise<StepResult> {
  return REPAIR_EXECUTORS[step.kind](context, step);
}

const RECORD_STEP_KINDS = {
  report_cost: true,
  commit: true,
  revert: true,
  succeed: true,
  fail: true,
} as const satisfies Record<RecordStep["kind"], true>;

/** Whether a step only writes to the store. */
export function isRecordStep(step: Step): step is RecordStep {
  return Object.hasOwn(RECORD_STEP_KINDS, step.kind);
}

/** What a record step writes: the record's new fields, and the change of the stored app. */
export interface RecordChange extends Pick<StoreChange, "app" | "removedApp"> {
  readonly record: Partial<DeploymentRecord>;
}

export function toRecordChange(step: RecordStep, record: DeploymentRecord, now: number): RecordChange {
  const { app: name, previous } = record;
  switch (step.kind) {
    case "commit":
      return {
        record: { committed: true, containerId: step.app.containerId },
        app:
          step.app.fleet && previous
            ? { ...step.app, changed: updateChange(record, step.app.spec, previous, now) }
            : step.app,
      };
    case "revert":
      // There is nothing to restore: the deployment's containers are removed by their label.
      if (step.superseded) return { record: { committed: false, touched: false } };
      return { record: { committed: false, touched: previous !== undefined }, ...appOrNone(step.app, name) };
    case "succeed":
      return {
        record: {
          outcome: "succeeded",
          committed: true,
          ...(step.result === "installed" && containerField(step.app)),
          ...(record.group && { result: step.result }),
        },
        ...(step.result === "removed" ? { removedApp: name } : step.app && { app: withChangedBy(step.app, record) }),
      };
    case "report_cost":
      return { record: { outcome: "succeeded" } };
    case "fail":
      return { record: { outcome: "failed" }, ...(step.app && { app: step.app }) };
  }
}

function containerField(app: RecordChange["app"]): Pick<DeploymentRecord, "containerId"> {
  return { containerId: app?.containerId };
}

/** A stop, start or restart keeps the app's deployment id; `changedBy` shows whether another one followed. */
function withChangedBy(app: AppRecord, { id }: DeploymentRecord): AppRecord {
  return app.deploymentId === id ? app : { ...app, changedBy: id };
}

function appOrNone(app: RecordChange["app"], name: string): Pick<RecordChange, "app" | "removedApp"> {
  return app ? { app } : { removedApp: name };
}
