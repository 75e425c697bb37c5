import { runningEvent } from "../core/deployment/step-events.ts";
import type { Step } from "../core/deployment/step.ts";
import { maskSecrets } from "../../lib/redact.ts";
import { declaredSecretsOfRecord } from "../core/app/secrets.ts";
import type { Failure } from "../core/records.ts";
import { type HealthLimit, healthLimit, healthLimitText, seconds } from "../core/deployment/health-limit.ts";
import { type Baseline, evaluateSample, type VerifyWindow } from "../core/deployment/verify.ts";
import type { ContainerState } from "../engine/engine.ts";
import { EngineError } from "../engine/engine-error.ts";
import { maskLogTail } from "../engine/mask-log-lines.ts";
import type { ContainerStepContext, StepContext, StepResult } from "./context.ts";
import { withContainer } from "./observe.ts";
import { findStartRefusal } from "./policy-check.ts";
import { WaitNotices } from "./wait-notices.ts";

const SAMPLE_INTERVAL_MS = 250;
const LOG_LINES = 20;
/** Limit for a log line and for the output of a health check in an event, in characters. */
const MAX_TEXT_LENGTH = 500;
/**
 * Samples of a crashed app until one is taken between two runs, when the exit code can be read, if the engine's history
 * does not have it. Podman restarts an app at once, so that moment is short.
 */
const MAX_EXIT_CODE_SAMPLES = 50;
const EXIT_CODE_SAMPLE_INTERVAL_MS = 40;

type VerifyStep = Extract<Step, { kind: "verify" }>;

type VerifyContext = ContainerStepContext & Pick<StepContext, "clock" | "record" | "emit" | "logger">;

/**
 * Samples the app until it is verified or has failed. Changes nothing, so it may run any number of times; after a
 * restart of the agent it starts again. Precondition: the container was started.
 */
export async function runVerify(context: VerifyContext, step: VerifyStep): Promise<StepResult> {
  const { clock, config, signal } = context;
  // The policy may have been tightened before a restart of the agent.
  const refusal = await findStartRefusal(context, step.spec, "verifying");
  if (refusal) return { failure: refusal };
  const notices = new WaitNotices(context);
  const startedAt = clock.monotonic();
  let baseline: Baseline | undefined;
  for (;;) {
    const sample = await sampleContainer(context, step);
    baseline ??= { restartCount: 0, startedAt: sample.startedAt };
    const elapsed = clock.monotonic() - startedAt;
    const limit = healthLimit(step.spec, sample.healthcheck, config.healthTimeoutMs);
    const window: VerifyWindow = {
      settleMs: config.settleMs,
      healthTimeoutMs: limit.ms,
      restartPolicy: step.spec.restart_policy,
      ...(context.record.group?.mustComplete && { completionMs: completionMs(step) }),
    };
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
      case "incomplete":
        return { failure: incompleteFailure(completionMs(step)) };
      case "unhealthy":
        return { failure: await unhealthyFailure(context, step, { sample, limit, elapsed }) };
      case "wait":
        notices.tell({ health: sample.health, output: healthOutput(context, sample) }, elapsed, window);
        await clock.sleep(Math.min(SAMPLE_INTERVAL_MS, remainingMs(sample, elapsed, window)), signal);
    }
  }
}

/** How long an app may take to complete, if its request does not say. */
const MAX_COMPLETION_MS = 600_000;

function completionMs({ spec }: VerifyStep): number {
  return spec.health_timeout_s === undefined ? MAX_COMPLETION_MS : spec.health_timeout_s * 1000;
}

function incompleteFailure(ms: number): Failure {
  return {
    code: "Unhealthy",
    step: "verifying",
    message: `The app did not end within ${seconds(ms)} s, and others wait for that. A request can set health_timeout_s.`,
  };
}

function remainingMs(sample: ContainerState, elapsed: number, window: VerifyWindow): number {
  const until = window.completionMs ?? (sample.health === "none" ? window.settleMs : window.healthTimeoutMs);
  return Math.max(10, until - elapsed);
}

async function sampleContainer(context: VerifyContext, step: VerifyStep): Promise<ContainerState> {
  const sample = await context.engine.inspectContainer(step.containerId, context.signal);
  if (!sample) throw new EngineError("not_found", "the app's container was removed while it was being verified");
  return sample;
}

async function crashFailure(context: VerifyContext, step: VerifyStep, first: ContainerState): Promise<Failure> {
  const { exitCode, ...sample } = await lastRun(context, step, first);
  const lines = await context.engine.tailLogs(step.containerId, LOG_LINES, context.signal);
  return {
    code: "CrashLoopBackOff",
    step: "verifying",
    message: sample.oomKilled ? "The app was killed because it ran out of memory." : crashText(exitCode),
    details: {
      ...(exitCode !== undefined && { exit_code: exitCode }),
      oom_killed: sample.oomKilled,
      restart_count: sample.restartCount,
      logs: maskLogTail(lines, secretsOf(context), MAX_TEXT_LENGTH),
    },
  };
}

function crashText(exitCode: number | undefined): string {
  if (exitCode !== 0) {
    const code = exitCode === undefined ? "" : ` with exit code ${exitCode}`;
    return `The app stopped${code} while it was being verified.`;
  }
  return (
    "The app ended by itself with exit code 0 while it was being verified. If that is all it has to do, deploy it with " +
    "restart_policy `no` or `on-failure` (edgectl: --restart no)."
  );
}

/** How the run that crashed ended, and the restarts by then. */
interface CrashedRun {
  /** `undefined` if it is not known. */
  readonly exitCode: number | undefined;
  readonly oomKilled: boolean;
  readonly restartCount: number;
}

/** An app that restarts quickly is running in most samples, which then do not have its last exit code. */
async function lastRun(context: VerifyContext, step: VerifyStep, first: ContainerState): Promise<CrashedRun> {
  const { restartCount } = first;
  if (first.status === "running") {
    const last = await context.engine.readLastExit(step.containerId, context.signal);
    if (last) return { ...last, restartCount };
  }
  let sample = first;
  for (let samples = 0; sample.status === "running" && samples < MAX_EXIT_CODE_SAMPLES; samples++) {
    await context.clock.sleep(EXIT_CODE_SAMPLE_INTERVAL_MS, context.signal);
    sample = await sampleContainer(context, step);
  }
  const { exitCode, oomKilled } = sample;
  return { exitCode: sample.status === "running" ? undefined : exitCode, oomKilled, restartCount: sample.restartCount };
}

interface UnhealthyApp {
  readonly sample: ContainerState;
  readonly limit: HealthLimit;
  /** Milliseconds it was waited for. */
  readonly elapsed: number;
}

async function unhealthyFailure(
  context: VerifyContext,
  step: VerifyStep,
  { sample, limit, elapsed }: UnhealthyApp,
): Promise<Failure> {
  const lines = await context.engine.tailLogs(step.containerId, LOG_LINES, context.signal);
  const { health } = sample;
  return {
    code: "Unhealthy",
    step: "verifying",
    message: health === "unhealthy" ? "The app's health check reports unhealthy." : healthLimitText(limit),
    details: {
      health,
      output: healthOutput(context, sample),
      waited_s: seconds(elapsed),
      limit_s: seconds(limit.ms),
      limit_from: limit.from,
      logs: maskLogTail(lines, secretsOf(context), MAX_TEXT_LENGTH),
    },
  };
}

/** Returns the output of the last health check run, masked: it may repeat values of the environment. */
function healthOutput(context: VerifyContext, sample: ContainerState): string {
  return maskSecrets(sample.healthOutput, secretsOf(context)).slice(0, MAX_TEXT_LENGTH);
}

function secretsOf({ record, store }: Pick<VerifyContext, "record" | "store">): string[] {
  return declaredSecretsOfRecord(record, (id) => store.fileContent(id)?.toString());
}
