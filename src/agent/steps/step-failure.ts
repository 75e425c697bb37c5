import { EdgeError } from "../../protocol/errors/errors.ts";
import { maskSecrets } from "../../lib/redact.ts";
import type { DeploymentStep } from "../../protocol/deployments/deployment-event.ts";
import { secretsOfRecord } from "../core/app/secrets.ts";
import type { DeploymentRecord, Failure } from "../core/records.ts";
import { failureOf } from "../core/deployment/failure.ts";
import type { Step } from "../core/deployment/step.ts";
import { DownloadError } from "../download/download-error.ts";
import { RegistryError } from "../registry/registry-error.ts";
import { EngineError } from "../engine/engine-error.ts";

const STEP_NAMES: Readonly<Record<Step["kind"], DeploymentStep>> = {
  check: "checking",
  resolve: "pulling",
  fetch: "pulling",
  pull: "pulling",
  create: "creating",
  try: "checking",
  switch: "starting",
  rename: "starting",
  connect: "starting",
  stop: "stopping",
  start: "starting",
  verify: "verifying",
  clean: "done",
  commit: "done",
  revert: "done",
  succeed: "done",
  report_cost: "done",
  fail: "done",
};

/** Returns the step name for events. */
export function stepName(kind: Step["kind"]): DeploymentStep {
  return STEP_NAMES[kind];
}

/** Whether the engine does not answer, so that the step can be tried again later. */
export function isEngineDown(error: unknown): error is EngineError {
  return error instanceof EngineError && (error.kind === "unavailable" || error.kind === "timeout");
}

/** Returns the error for the log. One that contains a secret, itself or in its causes, is replaced by a masked copy. */
export function maskError(error: unknown, secrets: readonly string[]): unknown {
  const texts: string[] = [];
  for (let at = error, depth = 0; at instanceof Error && depth < 10; at = at.cause, depth++) {
    texts.push(at.message, at.stack ?? "");
  }
  if (!(error instanceof Error) || texts.every((text) => maskSecrets(text, secrets) === text)) return error;
  const masked = new Error(maskSecrets(error.message, secrets));
  masked.name = error.name;
  masked.stack = maskSecrets(error.stack ?? "", secrets);
  return masked;
}

/** Converts an error to a failure. Texts of engines and registries are masked, since they may repeat secrets. */
export function toFailure(error: unknown, step: DeploymentStep, record: DeploymentRecord): Failure {
  if (error instanceof EdgeError) {
    const { code, message, details } = error;
    return { code, message, step, ...(details && { details }) };
  }
  if (!(error instanceof EngineError || error instanceof RegistryError || error instanceof DownloadError)) {
    return { code: "Internal", message: "Something went wrong inside the agent; its log says what.", step };
  }
  const secrets = secretsOfRecord(record);
  const message = maskSecrets(error.message, secrets);
  const { kind, cause } = error;
  const image = record.spec?.image ?? "";
  if (!(error instanceof RegistryError)) return failureOf({ kind, message }, step, image);
  const engineError = cause instanceof EngineError ? maskSecrets(cause.message, secrets) : undefined;
  return failureOf({ kind, message, hint: error.hint, engineError }, step, image);
}
