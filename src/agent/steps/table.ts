import type { Step } from "../core/plan.ts";
import { runCheck } from "./check.ts";
import { runClean } from "./clean.ts";
import type { StepContext, StepResult } from "./context.ts";
import { runCreate } from "./create.ts";
import { runPull } from "./pull.ts";
import { runStart } from "./start.ts";
import { runVerify } from "./verify.ts";

/** Steps that touch the engine. The others, `succeed` and `fail`, are no more than what is stored. */
export type EffectStep = Exclude<Step, { kind: "succeed" | "fail" }>;

type Executors = {
  readonly [K in EffectStep["kind"]]: (
    context: StepContext,
    step: Extract<EffectStep, { kind: K }>,
  ) => Promise<StepResult>;
};

/** Every step has its executor: one that is missing does not compile. */
const EXECUTORS: Executors = {
  check: runCheck,
  pull: runPull,
  create: runCreate,
  start: runStart,
  verify: runVerify,
  clean: runClean,
};

/** Carries out one step. */
export function execute<K extends EffectStep["kind"]>(
  context: StepContext,
  step: Extract<EffectStep, { kind: K }>,
): Promise<StepResult> {
  return EXECUTORS[step.kind](context, step);
}
