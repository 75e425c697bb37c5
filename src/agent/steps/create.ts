import { createHash } from "node:crypto";
import type { AppSpec } from "../../protocol/apps/app-spec.ts";
import { canonicalOptions } from "../../protocol/apps/canonical-options.ts";
import { bindsOf } from "../../protocol/apps/volume-fields.ts";
import { newVersionName, canonicalSpec, containerName, extrasOf, LABELS } from "../core/app/container.ts";
import { toSecretsLabel } from "../core/app/secrets.ts";
import { runningEvent } from "../core/deployment/step-events.ts";
import type { CreateStep } from "../core/deployment/step.ts";
import { EngineError } from "../engine/engine-error.ts";
import type { ContainerRequest, DeviceRequest, HealthcheckRequest } from "../engine/engine.ts";
import { placeName } from "../files/place.ts";
import { type FileMount, placeFiles } from "../files/placer.ts";
import type { ContainerStepContext, StepResult } from "./context.ts";
import { NOTHING_CREATED } from "./observe.ts";
import { type MountOutcome, withMissingMounts } from "./missing-mounts.ts";
import { joinFurtherNetworks, prepareNetworks, releaseNetworks } from "./networks.ts";
import { findStartRefusal } from "./policy-check.ts";
import { externalVolumeFailure, type MadeVolume, makeVolumes, removeMadeVolumes, volumeMounts } from "./volumes.ts";

/**
 * Creates an app's container without starting it. Precondition: no container carries the same deployment's label; one
 * that a crash left behind is observed before, and used instead.
 */
export async function runCreate(context: ContainerStepContext, step: CreateStep): Promise<StepResult> {
  let result: StepResult | undefined;
  try {
    result = await createContainer(context, step);
    return result;
  } finally {
    // Without a container there is nothing to clean up later, except the networks that were made for it.
    if (!result || result.failure) await releaseNetworks(context);
  }
}

async function createContainer(context: ContainerStepContext, step: CreateStep): Promise<StepResult> {
  const refusal = await findStartRefusal(context, step.spec, "creating");
  if (refusal) return { failure: refusal };
  const missing = await externalVolumeFailure(context, step.spec, "creating");
  if (missing) return { failure: missing };
  const networks = await prepareNetworks(context, step.spec, "creating");
  if (networks.failure) return { failure: networks.failure };
  const target = { spec: step.spec, image: async () => step.image, step: "creating" } as const;
  let madeVolumes: readonly MadeVolume[] = [];
  let created: MountOutcome<string>;
  let request: ContainerRequest;
  try {
    const { spec, image } = step;
    const placement = { spec, name: placeName(step.deploymentId), image: async () => image };
    request = onNetworks(toRequest(context, step, await placeFiles(context, placement)), networks.request);
    madeVolumes = await makeVolumes(context, spec, image);
    created = await withMissingMounts(context, target, () => context.engine.createContainer(request, context.signal));
  } catch (error) {
    if (step.refetch && isImageGone(error)) return refetch(step);
    throw error;
  }
  const { value: id, failure, made } = created;
  if (failure) await removeMadeVolumes(context, madeVolumes);
  const kept = failure ? [] : madeVolumes;
  const events = [...networks.events, ...[...kept, ...made].map(({ message }) => runningEvent("creating", message))];
  const result: StepResult = {
    events,
    ...(kept.length + made.length > 0 && {
      record: {
        ...(made.length > 0 && { madeDirectories: made.map(({ path }) => path) }),
        ...(kept.length > 0 && { madeVolumes: kept.map(({ name }) => name) }),
      },
    }),
  };
  if (id === undefined) return { ...result, ...(failure && { failure }) };
  await joinFurtherNetworks(context, step.spec, id);
  const { deploymentId } = step;
  // A rollback creates a container of the previous deployment; then the engine is asked again.
  if (deploymentId !== context.deploymentId) return result;
  const containers = [{ id, name: request.name, deploymentId, running: false, up: false }];
  return { ...result, observed: { containers } };
}

/** A container says whose network it has, which no engine changes. */
function onNetworks(request: ContainerRequest, { network }: Pick<ContainerRequest, "network">): ContainerRequest {
  if (typeof network !== "object" || !("container" in network)) return { ...request, ...(network && { network }) };
  return { ...request, network, labels: { ...request.labels, [LABELS.networkOf]: network.container } };
}

/** Whether the engine does not have the image: it was removed, or another engine uses the socket now. */
export function isImageGone(error: unknown): error is EngineError {
  return error instanceof EngineError && error.kind === "image_not_found";
}

function refetch({ spec }: CreateStep): StepResult {
  return {
    record: { imageId: undefined },
    progress: { refetched: true, source: undefined, present: undefined, pullAttempts: 0 },
    events: [runningEvent("creating", `Image ${spec.image} is not on the device any more; it is fetched again.`)],
    observed: NOTHING_CREATED,
  };
}

/** Returns the request for the container of a step. */
export function toRequest(
  { config }: Pick<ContainerStepContext, "config">,
  step: CreateStep,
  files: readonly FileMount[],
): ContainerRequest {
  const { spec, image, deploymentId, previousImageId } = step;
  const namedVolumes = volumeMounts(spec, config.stateDir);
  return {
    name: step.place === "new_version" ? newVersionName(spec.name) : containerName(spec.name),
    image,
    labels: {
      ...spec.labels,
      [LABELS.app]: spec.name,
      [LABELS.deployment]: deploymentId,
      [LABELS.specHash]: hashSpec(spec),
      [LABELS.stateDir]: config.stateDir,
      [LABELS.image]: spec.image,
      [LABELS.previousImage]: previousImageId ?? "",
      [LABELS.networkOf]: "",
      [LABELS.extras]: JSON.stringify(extrasOf(spec)),
      [LABELS.secretVariables]: toSecretsLabel(spec),
    },
    environment: spec.environments.map(({ key, value }) => `${key}=${value}`),
    ports: spec.ports.map(({ host_port, target_port, protocol, host_address }) => ({
      hostPort: host_port,
      targetPort: target_port,
      ...(protocol && { protocol }),
      ...(host_address !== undefined && { hostAddress: host_address }),
    })),
    volumes: bindsOf(spec).map(({ local, target, readonly }) => ({ local, target, readonly })),
    hostNetwork: spec.host_network,
    privileged: spec.privileged,
    restartPolicy: spec.restart_policy ?? "unless-stopped",
    logLimit: spec.log ? { maxBytes: spec.log.max_bytes, maxFiles: spec.log.max_files } : config.containerLog,
    ...(files.length > 0 && { files }),
    ...extraFields(spec),
    ...(namedVolumes.length > 0 && { namedVolumes }),
  };
}

/** Fields of the request that are present only where the specification has them. */
function extraFields(spec: AppSpec): Partial<ContainerRequest> {
  const { command, cpu_limit, memory_limit, devices, healthcheck } = spec;
  return {
    ...(command && { command }),
    ...(cpu_limit !== undefined && { cpuLimit: cpu_limit }),
    ...(memory_limit !== undefined && { memoryLimit: memory_limit }),
    ...(devices && { devices: devices.map(toDevice) }),
    ...(healthcheck && { healthcheck: toHealthcheck(healthcheck) }),
    ...optionsOf(spec),
  };
}

function optionsOf(spec: AppSpec): Pick<ContainerRequest, "options"> {
  const { labels: _labels, log: _log, ...options } = canonicalOptions(spec);
  return Object.keys(options).length > 0 ? { options } : {};
}

function toDevice({
  local,
  target = local,
  permissions = "rwm",
}: NonNullable<AppSpec["devices"]>[number]): DeviceRequest {
  return { local, target, permissions };
}

function toHealthcheck(check: NonNullable<AppSpec["healthcheck"]>): HealthcheckRequest {
  return {
    command: check.command,
    intervalS: check.interval_s,
    timeoutS: check.timeout_s,
    retries: check.retries,
    startPeriodS: check.start_period_s,
  };
}

/** Hex SHA-256 of the canonical specification. */
export function hashSpec(spec: AppSpec): string {
  return createHash("sha256").update(canonicalSpec(spec)).digest("hex");
}
