import { createHash } from "node:crypto";
import type { AppSpec } from "../../protocol/app-spec.ts";
import { LABELS, canonicalSpec, containerName, extrasOf, hasExtras } from "../core/container.ts";
import type { Step } from "../core/plan.ts";
import type { ContainerRequest } from "../engine/engine.ts";
import type { StepContext, StepResult } from "./context.ts";
import { requestExtras } from "./request-extras.ts";

type CreateStep = Extract<Step, { kind: "create" }>;

/**
 * Creates the app's container, not yet started. Precondition: no container carries this deployment's label; one that a
 * crash left behind was seen before and is adopted instead.
 */
export async function runCreate(context: StepContext, step: CreateStep): Promise<StepResult> {
  const id = await context.engine.createContainer(toRequest(context, step), context.signal);
  return { observed: { containers: [{ id, running: false }] } };
}

function toRequest(context: StepContext, { spec, image }: CreateStep): ContainerRequest {
  return {
    name: containerName(spec.name),
    image,
    labels: {
      [LABELS.app]: spec.name,
      [LABELS.deployment]: context.record.id,
      [LABELS.specHash]: specHash(spec),
      [LABELS.stateDir]: context.config.stateDir,
      ...(hasExtras(spec) && { [LABELS.extras]: JSON.stringify(extrasOf(spec)) }),
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
    logLimit: context.config.containerLog,
    ...requestExtras(spec),
  };
}

/** Hex SHA-256 of what was asked for. */
function specHash(spec: AppSpec): string {
  return createHash("sha256").update(canonicalSpec(spec)).digest("hex");
}
