import { createHash } from "node:crypto";
import type { AppSpec } from "../../protocol/app-spec.ts";
import { newVersionName, canonicalSpec, containerName, extrasOf, LABELS } from "../core/app/container.ts";
import { runningEvent } from "../core/deployment/step-events.ts";
import type { CreateStep } from "../core/deployment/step.ts";
import { EngineError } from "../engine/engine-error.ts";
import type { ContainerRequest } from "../engine/engine.ts";
import type { StepContext, StepResult } from "./context.ts";
import { NOTHING_CREATED } from "./observe.ts";
import { findStartRefusal } from "./policy-check.ts";
import { requestExtras } from "./request-extras.ts";

/**
 * Creates an app's container, not yet started. Precondition: none carries the same deployment's label; one that a crash
 * left behind was seen before and is adopted instead.
 */
export async function runCreate(context: StepContext, step: CreateStep): Promise<StepResult> {
  const refusal = await findStartRefusal(context, step.spec, "creating");
  if (refusal) return { failure: refusal };
  const request = toRequest(context, step);
  let id: string;
  try {
    id = await context.engine.createContainer(request, context.signal);
  } catch (error) {
    if (step.refetch && isImageGone(error)) return fetchAgain(step);
    throw error;
  }
  const { deploymentId } = step;
  // Of another deployment when an app is put back as it was; then the engine is asked again.
  if (deploymentId !== context.record.id) return {};
  return { observed: { containers: [{ id, name: request.name, deploymentId, running: false, up: false }] } };
}

/** The engine has no such image. It may have had: somebody removed it since, or another engine answers at its socket now. */
export function isImageGone(error: unknown): error is EngineError {
  return error instanceof EngineError && error.kind === "image_not_found";
}

function fetchAgain({ spec }: CreateStep): StepResult {
  return {
    record: { imageId: undefined },
    progress: { refetched: true, source: undefined, pullAttempts: 0 },
    events: [runningEvent("creating", `Image ${spec.image} is not on the device any more; it is fetched again.`)],
    observed: NOTHING_CREATED,
  };
}

function toRequest({ config }: StepContext, step: CreateStep): ContainerRequest {
  const { spec, image, deploymentId, previousImageId } = step;
  return {
    name: step.place === "beside" ? newVersionName(spec.name) : containerName(spec.name),
    image,
    labels: {
      [LABELS.app]: spec.name,
      [LABELS.deployment]: deploymentId,
      [LABELS.specHash]: hashSpec(spec),
      [LABELS.stateDir]: config.stateDir,
      [LABELS.image]: spec.image,
      [LABELS.previousImage]: previousImageId ?? "",
      [LABELS.extras]: JSON.stringify(extrasOf(spec)),
    },
    environment: spec.environments.map(({ key, value }) => `${key}=${value}`),
    ports: spec.ports.map(({ host_port, target_port, protocol }) => ({
      hostPort: host_port,
      targetPort: target_port,
      ...(protocol && { protocol }),
    })),
    volumes: spec.volumes,
    hostNetwork: spec.host_network,
    privileged: spec.privileged,
    restartPolicy: spec.restart_policy ?? "unless-stopped",
    logLimit: config.containerLog,
    ...requestExtras(spec),
  };
}

/** Hex SHA-256 of what was asked for. */
export function hashSpec(spec: AppSpec): string {
  return createHash("sha256").update(canonicalSpec(spec)).digest("hex");
}
