import type { Step, RecordStep } from "../core/deployment/step.ts";
import { runCheck } from "./check.ts";
import { runClean } from "./clean.ts";
import type { StepContext, StepResult } from "./context.ts";
import { runCreate } from "./create.ts";
import { runTrackedPull } from "./tracked-pull.ts";
import { runResolve } from "./resolve.ts";
import { runRename } from "./rename.ts";
import { runStart } from "./start.ts";
import { runStop } from "./stop.ts";
import { runSwitch } from "./switch.ts";
import { runVerify } from "./verify.ts";

/** Steps that touch the engine. */
export type EffectStep = Exclude<Step, RecordStep>;

type Executors = {
  readonly [K in EffectStep["kind"]]: (
    context: StepContext,
    step: Extract<EffectStep, { kind: K }>,
  ) => Promise<StepResult>;
};

/** Every step has its executor: one that is missing does not compile. */
const EXECUTORS: Executors = {
  check: runCheck,
  resolve: runResolve,
  pull: runTrackedPull,
  create: runCreate,
  switch: runSwitch,
  rename: runRename,
  stop: runStop,
  start: runStart,
  verify: runVerify,
  clean: runClean,
};

const RECORD_STEP_KINDS = {
  quote: true,
  commit: true,
  revert: true,
  succeed: true,
  fail: true,
} as const satisfies Record<RecordStep["kind"], true>;

/** Whether a step is no more than what is stored. */
export function isRecordStep(step: Step): step is RecordStep {
  return Object.hasOwn(RECORD_STEP_KINDS, step.kind);
}

/** Carries out one step. */
export function execute<K extends EffectStep["kind"]>(
  context: StepContext,
  step: Extract<EffectStep, { kind: K }>,
): Promise<StepResult> {
  return EXECUTORS[step.kind](context, step);
}
