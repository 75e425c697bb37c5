import { reachedAs } from "../../protocol/apps/app-network.ts";
import { requestedDeploymentId } from "../core/apply/child-id.ts";
import { deadline } from "../../lib/clock.ts";
import { maskSecrets } from "../../lib/redact.ts";
import { isUp } from "../core/app/container-decision.ts";
import type { RunEnd } from "../core/app/container-status.ts";
import { foreignText } from "../core/app/app-changes.ts";
import { declaredSecretsOf } from "../core/app/secrets.ts";
import { heldText } from "../core/service/crash-loop.ts";
import { findFailedDisk } from "../core/host/disk-fault.ts";
import type { AppRecord } from "../core/records.ts";
import { hostPortsOf, includesPort } from "../core/host/host-port.ts";
import type { ContainerState } from "../engine/engine.ts";
import { findMissingDevices } from "../host/host.ts";
import { maskLogTail } from "../engine/mask-log-lines.ts";
import { findAppContainer } from "../apps/find-app-container.ts";
import { pendingDeployments } from "../store/pending-deployments.ts";
import type { AppFacts } from "./api.ts";
import { type DeviceStatusSources, reasonOf } from "./device-status.ts";

const LOG_LINES = 20;
/** Maximum length of a log line and of the output of a health check. */
const MAX_TEXT_LENGTH = 500;
const ENGINE_TIMEOUT_MS = 5_000;
const MAX_HISTORY_ENTRIES = 1_000;

/** Collects the facts that explain why an app runs or not. Returns `undefined` if the name is unknown. */
export async function gatherAppFacts(
  name: string,
  sources: DeviceStatusSources,
  signal: AbortSignal,
): Promise<AppFacts | undefined> {
  const { store, clock, daemon } = sources;
  const app = store.apps().find((record) => record.name === name);
  const history = store.history(MAX_HISTORY_ENTRIES).filter((entry) => entry.app === name);
  const deploying = pendingDeployments(store).find((deployment) => deployment.app === name) ?? null;
  if (!app && history.length === 0) return undefined;
  using limit = deadline(clock, ENGINE_TIMEOUT_MS, signal);
  const seen = app ? await readEngineFacts(app, sources, limit.signal) : NO_ENGINE_FACTS;
  signal.throwIfAborted();
  const held = daemon?.heldFor(name);
  return {
    name,
    deployed: app ? deployed(app) : null,
    ...seen,
    foreign: foreignText(app?.changed) ?? null,
    failed_disk: (app && findFailedDisk(app.spec, await sources.host.readMounts())) ?? null,
    held: held ? heldText(held) : null,
    not_repaired: daemon?.repairFailure(name) ?? null,
    deploying,
    last_deployment: history.findLast((entry) => entry.kind === "deployment" && !entry.dry_run) ?? null,
    last_repair: history.findLast(({ kind }) => kind === "repair") ?? null,
  };
}

type EngineFacts = Pick<
  AppFacts,
  "engine_error" | "container" | "image_present" | "missing_devices" | "taken_ports" | "forbidden" | "log"
>;

const NO_ENGINE_FACTS: EngineFacts = {
  engine_error: null,
  container: null,
  image_present: null,
  missing_devices: [],
  taken_ports: [],
  forbidden: null,
  log: [],
};

function deployed({ deploymentId, desired, spec }: AppRecord): AppFacts["deployed"] {
  const { image, host_network, privileged, restart_policy = null, ports, volumes, environments } = spec;
  const variables = environments.map(({ key }) => key);
  const settings = { image, host_network, privileged, restart_policy, reached_as: reachedAs(spec) };
  return { deployment_id: requestedDeploymentId(deploymentId), desired, ...settings, ports, volumes, variables };
}

async function readEngineFacts(
  app: AppRecord,
  sources: DeviceStatusSources,
  signal: AbortSignal,
): Promise<EngineFacts> {
  try {
    const { engine } = sources;
    const [container, image, forbidden = null] = await Promise.all([
      findAppContainer(app, engine, signal),
      engine.inspectImage(app.imageId, signal),
      sources.daemon?.createPolicyCheck()(app, signal),
    ]);
    const secrets = declaredSecretsOf(app.spec, (id) => sources.store.fileContent(id)?.toString());
    // Engines do not show the log of a container that they could not remove.
    const lines = container ? await engine.tailLogs(container.id, LOG_LINES, signal).catch(() => []) : [];
    return {
      engine_error: null,
      container: container ? toFacts(container, await lastExitOf(container, sources, signal), secrets) : null,
      image_present: image !== undefined,
      missing_devices: container?.status === "running" ? [] : await findMissingDevices(app.spec, sources.host),
      taken_ports:
        (container && isUp(container.status)) || app.desired === "stopped"
          ? []
          : await takenPorts(app, sources, signal),
      forbidden,
      log: maskLogTail(lines, secrets, MAX_TEXT_LENGTH),
    };
  } catch (error) {
    return { ...NO_ENGINE_FACTS, engine_error: reasonOf(error) };
  }
}

/** Returns how the run before the present one ended, if the engine restarted the app. Not knowing it is no error. */
async function lastExitOf(
  { id, status, restartCount }: ContainerState,
  { engine }: DeviceStatusSources,
  signal: AbortSignal,
): Promise<RunEnd | undefined> {
  if (status !== "running" || restartCount === 0) return undefined;
  // The engine has removed the container, or does not say.
  return await engine.readLastExit(id, signal).catch(() => undefined);
}

function toFacts(
  state: ContainerState,
  lastExit: RunEnd | undefined,
  secrets: readonly string[],
): NonNullable<AppFacts["container"]> {
  return {
    id: state.id,
    name: state.name,
    status: state.status,
    restart_count: state.restartCount,
    max_restarts: state.maxRestarts ?? null,
    exit_code: state.exitCode,
    oom_killed: state.oomKilled,
    last_exit: lastExit ? { exit_code: lastExit.exitCode, oom_killed: lastExit.oomKilled } : null,
    started_at: state.startedAt,
    health: state.health,
    health_output: maskSecrets(state.healthOutput, secrets).slice(0, MAX_TEXT_LENGTH),
  };
}

async function takenPorts(
  app: AppRecord,
  { engine, host }: DeviceStatusSources,
  signal: AbortSignal,
): Promise<AppFacts["taken_ports"]> {
  const [containers, listening] = await Promise.all([engine.listContainers(signal), host.listeningPorts(signal)]);
  const taken = hostPortsOf(app.spec).map(async (port) => {
    const other = containers.find(({ id, hostPorts }) => id !== app.containerId && includesPort(hostPorts, port));
    if (other) return [{ port: port.port, holder: `container ${other.name}` }];
    if (!includesPort(listening, port)) return [];
    const process = await host.findPortHolder(port, signal);
    return [
      {
        port: port.port,
        holder: process ? `process ${process.name} (pid ${process.pid})` : "a process of another user",
      },
    ];
  });
  return (await Promise.all(taken)).flat();
}
