import { type HostState, findRefusal } from "../core/deployment/check.ts";
import { LABELS } from "../core/app/container.ts";
import { type HostPort, hostPortsOf, includesPort } from "../core/host/host-port.ts";
import type { AppRecord } from "../core/deployment/record.ts";
import { runningEvent } from "../core/deployment/step-events.ts";
import type { Step } from "../core/deployment/step.ts";
import { limitsWithoutEffect } from "./unenforced-limits.ts";
import { NOTHING_CREATED } from "./observe.ts";
import { findAppPolicyViolation } from "./policy-check.ts";
import { mustPull } from "../core/image/pull-decision.ts";
import type { AppSpec } from "../../protocol/app-spec.ts";
import type { ContainerSummary } from "../engine/engine.ts";
import { findManagedContainers } from "../engine/managed-containers.ts";
import type { StepContext, StepResult } from "./context.ts";

/**
 * Looks at the machine once and lets the core judge. Changes nothing, so it may run any number of times.
 * Precondition: none; an engine that is not there fails the deployment, since nothing of it exists yet.
 */
export async function runCheck(context: StepContext, { spec }: Extract<Step, { kind: "check" }>): Promise<StepResult> {
  // An update that names no image keeps the one in force, by its id.
  const kept = context.record.imageId;
  const [around, image] = await Promise.all([
    readHostState(context, spec),
    context.engine.inspectImage(kept ?? spec.image, context.signal),
  ]);
  const judged = { phase: "request", order: context.record.order } as const;
  const policyViolation = await findAppPolicyViolation(context, spec, judged, context.signal);
  // Asked after the engine answered: in between, an earlier deployment may have come up.
  const apps = context.store.apps().filter(({ name }) => !isUpdateOf(context.record, name));
  const refusal = findRefusal(spec, {
    ...around,
    policyViolation,
    concurrentDeployments: context.concurrentDeployments(),
    apps: apps.map(claims),
  });
  if (refusal) {
    const { details } = refusal;
    return {
      failure: {
        code: refusal.code,
        message: refusal.message ?? "",
        step: "checking",
        ...(details && { details: await addProcessToDetails(context, details) }),
      },
    };
  }
  const imageId = image && (kept !== undefined || !mustPull(spec.image, true)) ? image.id : undefined;
  return {
    record: { checked: true, imageId },
    events: [
      ...(await limitsWithoutEffect(context, spec)),
      ...(imageId === undefined || context.record.options.dry_run
        ? []
        : [runningEvent("pulling", `Image ${spec.image} is already on the device.`)]),
    ],
    observed: NOTHING_CREATED,
  };
}

async function readHostState(
  context: StepContext,
  spec: AppSpec,
): Promise<Omit<HostState, "concurrentDeployments" | "apps" | "policyViolation">> {
  const { engine, host, config, signal, record } = context;
  const [containers, listening, freeBytes, missingDevices] = await Promise.all([
    engine.listContainers(signal),
    host.listeningPorts(signal),
    context.dataRoot(signal).then((directory) => host.freeBytes(directory)),
    missing(spec, context),
  ]);
  const recorded = new Set(context.store.apps().map(({ containerId }) => containerId));
  const labelled = containers.filter(({ id, labels }) => {
    return labels[LABELS.stateDir] === config.stateDir || labels[LABELS.deployment] === record.id || recorded.has(id);
  });
  const made = await findManagedContainers(labelled, { engine, recorded }, signal);
  const apps = new Map(made.map(({ id, app }) => [id, app]));
  const own = made.filter(({ app, deploymentId }) => deploymentId === record.id || isUpdateOf(record, app));
  return {
    containers: containers
      .filter(({ id }) => !own.some((container) => container.id === id))
      // Another agent's container is as foreign as any.
      .map(({ id, name, hostPorts }) => ({ name, hostPorts, app: apps.get(id) })),
    listeningPorts: othersPorts(listening, own, record.previous),
    freeBytes,
    reserveBytes: config.diskReserveBytes,
    capacity: host.capacity(),
    missingDevices,
    action: record.action === "update" ? "update" : "deploy",
  };
}

async function missing({ devices = [] }: AppSpec, { host }: StepContext): Promise<string[]> {
  const found = await Promise.all(devices.map(({ local }) => host.isDevice(local)));
  return devices.flatMap(({ local }, index) => (found[index] ? [] : [local]));
}

/** Whether the app is the one that is updated: what it holds itself is no obstacle. */
function isUpdateOf({ action, app }: StepContext["record"], name: string | undefined): boolean {
  return action === "update" && app === name;
}

/**
 * Ports that somebody else listens on, as far as can be said: on the host's network any of them may be the app's own,
 * and a conflict then shows when the new version starts.
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

function claims({ name, spec }: AppRecord): HostState["apps"][number] {
  return { name, hostPorts: hostPortsOf(spec) };
}

interface PortDetails {
  readonly host_port?: number;
  readonly protocol?: HostPort["protocol"];
  readonly holder?: { readonly kind: string };
}

async function addProcessToDetails(context: StepContext, details: Readonly<Record<string, unknown>>) {
  const { host_port: port, protocol = "tcp", holder } = details as PortDetails;
  if (port === undefined || holder?.kind !== "process") return details;
  const process = await context.host.findPortHolder({ port, protocol }, context.signal);
  return { ...details, holder: { ...holder, ...process } };
}
