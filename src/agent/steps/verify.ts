import { runningEvent } from "../core/deployment/step-events.ts";
import type { Step } from "../core/deployment/step.ts";
import { maskSecrets } from "../../lib/redact.ts";
import { declaredSecretsOfRecord } from "../core/app/secrets.ts";
import type { Failure } from "../core/deployment/record.ts";
import { type Baseline, evaluateSample } from "../core/deployment/verify.ts";
import type { ContainerState } from "../engine/engine.ts";
import { EngineError } from "../engine/engine-error.ts";
import { maskLogTail } from "../engine/mask-log-lines.ts";
import type { ContainerStepContext, StepContext, StepResult } from "./context.ts";
import { withContainer } from "./observe.ts";
import { findStartRefusal } from "./policy-check.ts";

const SAMPLE_INTERVAL_MS = 250;
const LOG_LINES = 20;
/** Limit for a log line and for the output of a health check in an event, in characters. */
const MAX_TEXT_LENGTH = 500;
/**
 * Samples of a crashed app until one is taken between two runs, when the exit code can be read. Podman restarts an app
 * at once, so that moment is short.
 */
const MAX_EXIT_CODE_SAMPLES = 50;
const EXIT_CODE_SAMPLE_INTERVAL_MS = 40;

type VerifyStep = Extract<Step, { kind: "verify" }>;

type VerifyContext = ContainerStepContext & Pick<StepContext, "clock" | "record">;

/**
 * Samples the app until it is verified or has failed. Changes nothing, so it may run any number of times; after a
 * restart of the agent it starts again. Precondition: the container was started.
 */
export async function runVerify(context: VerifyContext, step: VerifyStep): Promise<StepResult> {
  const { clock, config, signal } = context;
  // The policy may have been tightened before a restart of the agent.
  const refusal = await findStartRefusal(context, step.spec, "verifying");
  if (refusal) return { failure: refusal };
  const { settleMs, healthTimeoutMs } = config;
  const window = { settleMs, healthTimeoutMs, restartPolicy: step.spec.restart_policy };
  const startedAt = clock.monotonic();
  let baseline: Baseline | undefined;
  for (;;) {
    const sample = await sampleContainer(context, step);
    baseline ??= { restartCount: 0, startedAt: sample.startedAt };
    const elapsed = clock.monotonic() - startedAt;
    switch (evaluateSample(sample, baseline, elapsed, window)) {
      case "healthy":
        return {
          progress: { verifiedContainerId: step.containerId },
          observed: context.observed,
        };
      case "exited":
        return {
          progress: { verifiedContainerId: step.containerId },
          observed: withContainer(context.observed, step.containerId, { running: false, up: false }),
          events: [
            runningEvent("verifying", "The app ended by itself, without an error, as its restart policy allows."),
          ],
        };
      case "crashed":
        return { failure: await crashFailure(context, step, sample) };
      case "unhealthy":
        return { failure: unhealthyFailure(context, sample) };
      case "wait":
        await clock.sleep(Math.min(SAMPLE_INTERVAL_MS, remainingMs(sample, elapsed, window)), signal);
    }
  }
}

function remainingMs(
  sample: ContainerState,
  elapsed: number,
  window: { settleMs: number; healthTimeoutMs: number },
): number {
  const until = sample.health === "none" ? window.settleMs : window.healthTimeoutMs;
  return Math.max(10, until - elapsed);
}

async function sampleContainer(context: VerifyContext, step: VerifyStep): Promise<ContainerState> {
  const sample = await context.engine.inspectContainer(step.containerId, context.signal);
  if (!sample) throw new EngineError("not_found", "the app's container was removed while it was being verified");
  return sample;
}

async function crashFailure(context: VerifyContext, step: VerifyStep, first: ContainerState): Promise<Failure> {
  const sample = await sampleBetweenRuns(context, step, first);
  const lines = await context.engine.tailLogs(step.containerId, LOG_LINES, context.signal);
  const exitCode = sample.status === "running" ? undefined : sample.exitCode;
  const code = exitCode === undefined ? "" : ` with exit code ${exitCode}`;
  return {
    code: "CrashLoopBackOff",
    step: "verifying",
    message: sample.oomKilled
      ? "The app was killed because it ran out of memory."
      : `The app stopped${code} while it was being verified.`,
    details: {
      ...(exitCode !== undefined && { exit_code: exitCode }),
      oom_killed: sample.oomKilled,
      restart_count: sample.restartCount,
      logs: maskLogTail(lines, declaredSecretsOfRecord(context.record), MAX_TEXT_LENGTH),
    },
  };
}

/** An app that restarts quickly is running in most samples; its last exit code can be read only while it is down. */
async function sampleBetweenRuns(
  context: VerifyContext,
  step: VerifyStep,
  first: ContainerState,
): Promise<ContainerState> {
  let sample = first;
  for (let samples = 0; sample.status === "running" && samples < MAX_EXIT_CODE_SAMPLES; samples++) {
    await context.clock.sleep(EXIT_CODE_SAMPLE_INTERVAL_MS, context.signal);
    sample = await sampleContainer(context, step);
  }
  return sample;
}

function unhealthyFailure(context: VerifyContext, sample: ContainerState): Failure {
  const output = maskSecrets(sample.healthOutput, declaredSecretsOfRecord(context.record)).slice(0, MAX_TEXT_LENGTH);
  const seconds = Math.round(context.config.healthTimeoutMs / 1000);
  return {
    code: "Unhealthy",
    step: "verifying",
    message:
      sample.health === "unhealthy"
        ? "The app's health check reports unhealthy."
        : `The app's health check did not become healthy within ${seconds} s.`,
    details: { health: sample.health, output },
  };
}
