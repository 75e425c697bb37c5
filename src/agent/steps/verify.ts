import { runningEvent } from "../core/deployment/step-events.ts";
import type { Step } from "../core/deployment/step.ts";
import { maskSecrets } from "../../lib/redact.ts";
import { secretsOfRecord } from "../core/app/container.ts";
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
/** Longest line, and longest output of a health check, that goes into an event, in characters. */
const MAX_TEXT_LENGTH = 500;
/**
 * How a crashed app is watched for the moment between two runs, when its exit code can be seen. Podman starts an app
 * again at once, so that moment is short.
 */
const MAX_EXIT_CODE_SAMPLES = 50;
const EXIT_CODE_SAMPLE_INTERVAL_MS = 40;

type VerifyStep = Extract<Step, { kind: "verify" }>;

type VerifyContext = ContainerStepContext & Pick<StepContext, "clock" | "record">;

/**
 * Watches the app until it has proved itself or not. Only looks, so it may run any number of times; after a restart of
 * the agent it begins anew. Precondition: the container was started.
 */
export async function runVerify(context: VerifyContext, step: VerifyStep): Promise<StepResult> {
  const { clock, config, signal } = context;
  // The policy may have been tightened while it was verified, and the agent restarted.
  const refusal = await findStartRefusal(context, step.spec, "verifying");
  if (refusal) return { failure: refusal };
  const { settleMs, healthTimeoutMs } = config;
  const window = { settleMs, healthTimeoutMs, restartPolicy: step.spec.restart_policy };
  const beganAt = clock.monotonic();
  let baseline: Baseline | undefined;
  for (;;) {
    const vitals = await sampleContainer(context, step);
    baseline ??= { restartCount: 0, startedAt: vitals.startedAt };
    const elapsed = clock.monotonic() - beganAt;
    switch (evaluateSample(vitals, baseline, elapsed, window)) {
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
        return { failure: await crashed(context, step, vitals) };
      case "unhealthy":
        return { failure: unhealthy(context, vitals) };
      case "wait":
        await clock.sleep(Math.min(SAMPLE_INTERVAL_MS, remaining(vitals, elapsed, window)), signal);
    }
  }
}

function remaining(
  vitals: ContainerState,
  elapsed: number,
  window: { settleMs: number; healthTimeoutMs: number },
): number {
  const until = vitals.health === "none" ? window.settleMs : window.healthTimeoutMs;
  return Math.max(10, until - elapsed);
}

async function sampleContainer(context: VerifyContext, step: VerifyStep): Promise<ContainerState> {
  const vitals = await context.engine.inspectContainer(step.containerId, context.signal);
  if (!vitals) throw new EngineError("not_found", "the app's container was removed while it was being verified");
  return vitals;
}

async function crashed(context: VerifyContext, step: VerifyStep, first: ContainerState): Promise<Failure> {
  const vitals = await betweenRuns(context, step, first);
  const lines = await context.engine.tailLogs(step.containerId, LOG_LINES, context.signal);
  const exitCode = vitals.status === "running" ? undefined : vitals.exitCode;
  const code = exitCode === undefined ? "" : ` with exit code ${exitCode}`;
  return {
    code: "CrashLoopBackOff",
    step: "verifying",
    message: vitals.oomKilled
      ? "The app was killed because it ran out of memory."
      : `The app stopped${code} while it was being verified.`,
    details: {
      ...(exitCode !== undefined && { exit_code: exitCode }),
      oom_killed: vitals.oomKilled,
      restart_count: vitals.restartCount,
      logs: maskLogTail(lines, secretsOfRecord(context.record), MAX_TEXT_LENGTH),
    },
  };
}

/** An app that restarts fast is often seen running; its last exit code shows only while it is down. */
async function betweenRuns(context: VerifyContext, step: VerifyStep, first: ContainerState): Promise<ContainerState> {
  let vitals = first;
  for (let looks = 0; vitals.status === "running" && looks < MAX_EXIT_CODE_SAMPLES; looks++) {
    await context.clock.sleep(EXIT_CODE_SAMPLE_INTERVAL_MS, context.signal);
    vitals = await sampleContainer(context, step);
  }
  return vitals;
}

function unhealthy(context: VerifyContext, vitals: ContainerState): Failure {
  // What the app wrote may repeat what it was given.
  const output = maskSecrets(vitals.healthOutput, secretsOfRecord(context.record)).slice(0, MAX_TEXT_LENGTH);
  const seconds = Math.round(context.config.healthTimeoutMs / 1000);
  return {
    code: "Unhealthy",
    step: "verifying",
    message:
      vitals.health === "unhealthy"
        ? "The app's health check reports unhealthy."
        : `The app's health check did not become healthy within ${seconds} s.`,
    details: { health: vitals.health, output },
  };
}
