import type { Step, StoredStep } from "../core/step.ts";
import { runCheck } from "./check.ts";
import { runClean } from "./clean.ts";
import type { StepContext, StepResult } from "./context.ts";
import { runCreate } from "./create.ts";
import { runPullAndNote } from "./note-pulled.ts";
import { runResolve } from "./resolve.ts";
import { runRename } from "./rename.ts";
import { runStart } from "./start.ts";
import { runStop } from "./stop.ts";
import { runSwitch } from "./switch.ts";
import { runVerify } from "./verify.ts";

/** Steps that touch the engine. */
export type EffectStep = Exclude<Step, StoredStep>;

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
  pull: runPullAndNote,
  create: runCreate,
  switch: runSwitch,
  rename: runRename,
  stop: runStop,
  start: runStart,
  verify: runVerify,
  clean: runClean,
};

const STORED = { quote: true, commit: true, revert: true, succeed: true, fail: true } as const satisfies Record<
  StoredStep["kind"],
  true
>;

/** Whether a step is no more than what is stored. */
export function isStored(step: Step): step is StoredStep {
  return Object.hasOwn(STORED, step.kind);
}

/** Carries out one step. */
export function execute<K extends EffectStep["kind"]>(
  context: StepContext,
  step: Extract<EffectStep, { kind: K }>,
): Promise<StepResult> {
  return EXECUTORS[step.kind](context, step);
}
