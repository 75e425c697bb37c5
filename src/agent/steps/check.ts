import { MIN_SECRET_LENGTH } from "../../protocol/apps/secret-texts.ts";
import { optionNotes } from "../core/deployment/check-options.ts";
import {
  findMissingDevice,
  findRefusal,
  type HostState,
  type Refusal,
  toRefusalFailure,
} from "../core/deployment/check.ts";
import { isUp } from "../core/app/container-decision.ts";
import { hasLeftoverName, LABELS } from "../core/app/container.ts";
import { differenceNotes } from "../core/deployment/engine-differences.ts";
import { type HostPort, hostPortsOf, includesPort } from "../core/host/host-port.ts";
import type { AppRecord, Failure } from "../core/records.ts";
import { secretNotes } from "../core/deployment/secret-notes.ts";
import { runningEvent } from "../core/deployment/step-events.ts";
import type { Step } from "../core/deployment/step.ts";
import { missingFileFailure } from "./missing-mounts.ts";
import { externalNetworkFailure } from "./networks.ts";
import { NOTHING_CREATED } from "./observe.ts";
import { findAppPolicyViolation } from "./policy-check.ts";
import { NO_COST } from "../core/image/image.ts";
import { findBudgetRefusal, findFilesSpaceRefusal, withFiles } from "../core/image/pull-cost.ts";
import { mustAsk, pullPolicyOf } from "../core/image/pull-decision.ts";
import { findMissingDevices } from "../host/host.ts";
import type { AppSpec } from "../../protocol/apps/app-spec.ts";
import type { EventContent } from "../../protocol/deployments/deployment-event.ts";
import type { ContainerSummary, EngineInfo } from "../engine/engine.ts";
import { findManagedContainers } from "../engine/managed-containers.ts";
import type { StepContext, StepResult } from "./context.ts";
import { readVolumeState } from "./volumes.ts";

type CheckContext = Pick<
  StepContext,
  | "engine"
  | "host"
  | "store"
  | "config"
  | "engineInfo"
  | "images"
  | "record"
  | "concurrentDeployments"
  | "replacedApps"
  | "signal"
>;

/**
 * Checks the request against the host state. Changes nothing, so it may run any number of times. Precondition: none; an
 * absent engine fails the deployment, since nothing of it exists yet.
 */
export async function runCheck(context: CheckContext, { spec }: Extract<Step, { kind: "check" }>): Promise<StepResult> {
  const { engine, host, record, store, signal } = context;
  // An update that names no image keeps the current one, by its id.
  const kept = record.imageId;
  const options = { phase: "request", order: record.order } as const;
  const known = context.engineInfo(signal);
  const [engineInfo, hostState, image, policyViolation, volumes] = await Promise.all([
    needsEngineInfo(spec) ? engine.info(signal) : known,
    readHostState(context, spec, known),
    engine.inspectImage(kept ?? spec.image, signal),
    findAppPolicyViolation(context, spec, options, signal),
    readVolumeState(context, spec),
  ]);
  // Read after the engine has answered: an earlier deployment may have become an app in between.
  const apps = store.apps().filter(({ name }) => !isUpdateOf(record, name) && !context.replacedApps.has(name));
  const refusal = findRefusal(spec, {
    ...hostState,
    gpus: spec.gpus === undefined ? undefined : engineInfo.gpus,
    engine: engineInfo.kind,
    volumeSubpaths: engineInfo.volumeSubpaths,
    policyViolation,
    volumes,
    concurrentDeployments: context.concurrentDeployments(),
    apps: apps.map(({ name, spec: installed }) => ({ name, hostPorts: hostPortsOf(installed), named: installed })),
  });
  if (refusal) return { failure: toRefusalFailure(await withProcess(refusal, host, signal), "checking") };
  const { dry_run: isDryRun = false, max_download_bytes: requestMaxDownloadBytes } = record.options;
  // Before any download; with that of the image they are compared when its cost is known.
  const tooMuch = findBudgetRefusal(withFiles(NO_COST, record.fetches), {
    maxImageBytes: undefined,
    deviceMaxDownloadBytes: context.config.maxDownloadBytes,
    requestMaxDownloadBytes,
  });
  if (tooMuch) return { failure: toRefusalFailure(tooMuch, "checking") };
  const { fetches = [] } = record;
  const noRoom = fetches.length > 0 && findFilesSpaceRefusal(fetches, await host.freeBytes(context.config.stateDir));
  if (noRoom) return { failure: toRefusalFailure(noRoom, "checking") };
  const missingNetwork = await externalNetworkFailure(context, spec, "checking");
  if (missingNetwork) return { failure: missingNetwork };
  const mayUse = kept !== undefined || !mustAsk(spec.image, pullPolicyOf(record.action, spec));
  const imageId = image && mayUse ? image.id : undefined;
  // Any other deployment finds out by its image, before its container is made.
  const missing = isDryRun ? await missingFileFailure(context, spec, imageId) : undefined;
  if (missing) return { failure: missing };
  // Only with the image: a digest without one is what is pulled.
  const digest = image && imageId !== undefined ? context.images.knownDigest(spec.image, image) : undefined;
  return {
    record: { checked: true, imageId, ...(digest !== undefined && { digest }) },
    ...(kept === undefined && {
      progress: { present: image ? { id: image.id, repoDigests: image.repoDigests } : null },
    }),
    events: [
      ...limitsWithoutEffect(engineInfo, spec),
      ...optionNotes(spec),
      ...differenceNotes(engineInfo, spec),
      ...secretNotes(record, MIN_SECRET_LENGTH),
      ...(imageId === undefined || isDryRun
        ? []
        : [runningEvent("pulling", `Image ${spec.image} is already on the device.`)]),
    ],
    observed: NOTHING_CREATED,
  };
}

/** Whether the check depends on what may have been changed since it was read: the engine runs programs to answer. */
function needsEngineInfo({ gpus, memory_limit, cpu_limit, volumes }: AppSpec): boolean {
  const hasSubpath = volumes.some((volume) => "subpath" in volume);
  return gpus !== undefined || memory_limit !== undefined || cpu_limit !== undefined || hasSubpath;
}

async function readHostState(
  context: CheckContext,
  spec: AppSpec,
  engineInfo: Promise<EngineInfo>,
): Promise<
  Omit<
    HostState,
    "concurrentDeployments" | "apps" | "policyViolation" | "volumes" | "gpus" | "engine" | "volumeSubpaths"
  >
> {
  const { engine, host, config, signal, record, replacedApps } = context;
  const [containers, listening, [freeBytes, freeInodes], missingDevices] = await Promise.all([
    engine.listContainers(signal),
    host.listeningPorts(signal),
    engineInfo.then(({ dataRoot }) => Promise.all([host.freeBytes(dataRoot), host.freeInodes(dataRoot)])),
    findMissingDevices(spec, host),
  ]);
  const recorded = new Set(context.store.apps().map(({ containerId }) => containerId));
  const labelled = containers.filter(({ id, labels }) => {
    return labels[LABELS.stateDir] === config.stateDir || labels[LABELS.deployment] === record.id || recorded.has(id);
  });
  const managed = await findManagedContainers(labelled, { engine, recorded }, signal);
  // They hold no port, and neither the name nor the app of a new one.
  const setAside = managed.filter(({ name, app, status }) => hasLeftoverName(name, app) && !isUp(status));
  const made = managed.filter((container) => !setAside.includes(container));
  const apps = new Map(made.map(({ id, app }) => [id, app]));
  const own = made.filter(({ app, deploymentId }) => {
    return deploymentId === record.id || isUpdateOf(record, app) || replacedApps.has(app);
  });
  return {
    containers: containers
      .filter(({ id }) => ![...own, ...setAside].some((container) => container.id === id))
      // Containers of another agent count as foreign.
      .map(({ id, name, hostPorts, labels }) => {
        return { name, hostPorts, app: apps.get(id), otherAgent: otherAgentOf(labels, config.stateDir) };
      }),
    listeningPorts: othersPorts(listening, own, record.previous),
    freeBytes,
    freeInodes,
    reserveBytes: config.diskReserveBytes,
    capacity: host.capacity(),
    missingDevices,
    action: record.action === "update" ? "update" : "deploy",
    isInGroup: record.group !== undefined,
  };
}

/** A path as people write them. Labels may be an image's: they say anything. */
const SHOWN_PATH = /^\/[\x21-\x7e]{1,200}$/;

function otherAgentOf({ [LABELS.stateDir]: stateDir }: ContainerSummary["labels"], own: string): string | undefined {
  return stateDir !== undefined && stateDir !== own && SHOWN_PATH.test(stateDir) ? stateDir : undefined;
}

/** Returns the failure of an app whose devices are not there. */
export async function missingDeviceFailure(
  { host }: Pick<CheckContext, "host">,
  spec: AppSpec,
  step: Failure["step"],
): Promise<Failure | undefined> {
  const refusal = findMissingDevice(await findMissingDevices(spec, host));
  return refusal && toRefusalFailure(refusal, step);
}

/** Whether the app is the one being updated: its own ports and names do not conflict. */
function isUpdateOf({ action, app }: StepContext["record"], name: string | undefined): boolean {
  return action === "update" && app === name;
}

/**
 * Returns the ports others listen on, as far as can be told: on the host's network any of them may be the app's own. A
 * conflict then shows when the new version starts.
 */
function othersPorts(
  listening: readonly HostPort[],
  own: readonly ContainerSummary[],
  previous: AppRecord | undefined,
): HostPort[] {
  const isRunning = own.some(({ status }) => status === "running");
  if (previous?.spec.host_network && isRunning) return [];
  const held = own.flatMap(({ hostPorts }) => hostPorts);
  return listening.filter((port) => !includesPort(held, port));
}

/** The refusal with the process that has the port, as far as the host can find it. */
async function withProcess(refusal: Refusal, host: StepContext["host"], signal: AbortSignal): Promise<Refusal> {
  const { portConflict } = refusal;
  if (portConflict?.holder?.kind !== "process") return refusal;
  const process = await host.findPortHolder(portConflict.port, signal);
  return { ...refusal, portConflict: { ...portConflict, holder: { ...portConflict.holder, ...process } } };
}

/**
 * Reports limits of the app that cannot be enforced, since the kernel was started without the controllers for them, or a
 * rootless engine's user was not given them: engines ignore such limits silently.
 */
function limitsWithoutEffect({ limits, isRootless }: EngineInfo, spec: AppSpec): EventContent[] {
  const { memory_limit, cpu_limit, memory_swap_limit } = spec;
  const fields = [
    ...(memory_limit !== undefined && !limits.memory ? ["memory_limit"] : []),
    ...(memory_swap_limit !== undefined && !(limits.memory && limits.swap !== false) ? ["memory_swap_limit"] : []),
    ...(cpu_limit !== undefined && !limits.cpu ? ["cpu_limit"] : []),
  ];
  const reason = isRootless
    ? "The engine runs as a user without the right to it"
    : "This device's kernel was started without the means for it";
  return fields.map((field) => runningEvent("checking", `${reason}: ${field} has no effect.`));
}
