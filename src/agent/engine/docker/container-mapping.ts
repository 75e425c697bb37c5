import type { ContainerInfo, ContainerInspectInfo } from "dockerode";
import { isUp } from "../../core/app/container-decision.ts";
import type { ContainerStatus, HealthcheckTimes, HealthStatus } from "../../core/app/container-status.ts";
import { type HostPort, includesPort } from "../../core/host/host-port.ts";
import type { ContainerState, ContainerSummary } from "../engine.ts";
import { requireFields } from "./shape.ts";

const STATUS: ReadonlyMap<string, ContainerStatus> = new Map([
  ["created", "created"],
  ["running", "running"],
  ["paused", "paused"],
  ["restarting", "restarting"],
  ["removing", "removing"],
  ["exited", "exited"],
  ["dead", "dead"],
  // Podman only.
  ["configured", "created"],
  ["initialized", "created"],
  ["stopping", "running"],
  ["stopped", "exited"],
]);

/** Maps a status of Docker or Podman. */
function containerStatus(text: string | undefined): ContainerStatus {
  return STATUS.get(text?.toLowerCase() ?? "") ?? "unknown";
}

/** Maps an entry of the container list. */
export function toSummary(entry: ContainerInfo): ContainerSummary {
  const info = requireFields(entry, { Id: "", State: "" });
  const status = containerStatus(info.State);
  // Podman also lists the ports of stopped containers.
  const ports = isUp(status) ? (info.Ports ?? []).map(({ PublicPort, Type }) => hostPort(PublicPort, Type)) : [];
  return {
    id: info.Id,
    name: (info.Names?.[0] ?? "").replace(/^\//, ""),
    image: info.Image,
    imageId: info.ImageID ?? "",
    status,
    labels: info.Labels ?? {},
    hostPorts: distinctPorts(ports),
    networks: joinableNetworks(info),
  };
}

/** Networks of the engine that take no container from another mode. */
const MODES = new Set(["host", "none"]);

/** Docker lists such modes as networks; Podman lists no network then. */
function joinableNetworks({ NetworkSettings, HostConfig }: ContainerInfo): readonly string[] | undefined {
  const names = Object.keys(NetworkSettings?.Networks ?? {});
  // Podman names no mode. Where it connects a container by a process of the user, there is no network to join.
  const mode = (HostConfig as Partial<ContainerInfo["HostConfig"]> | undefined)?.NetworkMode;
  const isJoinable = mode === undefined ? names.length > 0 : !MODES.has(mode) && !mode.startsWith("container:");
  return isJoinable && !names.some((name) => MODES.has(name)) ? names : undefined;
}

/** Returns the host ports in a container's configuration, whether it holds them or not. */
export function configuredPorts(info: ContainerInspectInfo): HostPort[] {
  const bindings = Object.entries(
    (info.HostConfig.PortBindings ?? {}) as Record<string, { HostPort?: string }[] | null>,
  );
  const ports = bindings.flatMap(([target, list]) =>
    (list ?? []).map(({ HostPort }) => hostPort(Number(HostPort), protocolOf(target))),
  );
  return distinctPorts(ports);
}

/** Returns the protocol of a port as engines write it: `80/tcp`. */
export function protocolOf(target: string): HostPort["protocol"] {
  return target.endsWith("/udp") ? "udp" : "tcp";
}

function hostPort(port: number | undefined, type: string): HostPort {
  return { port: port ?? 0, protocol: type === "udp" ? "udp" : "tcp" };
}

function distinctPorts(ports: readonly HostPort[]): HostPort[] {
  const valid = ports.filter(({ port }) => Number.isInteger(port) && port > 0);
  return valid.filter((port, index) => !includesPort(valid.slice(0, index), port));
}

/** Maps an inspected container. */
export function toState(info: ContainerInspectInfo): ContainerState {
  const { State: state } = info;
  const health = healthOf(state);
  return {
    id: info.Id,
    name: info.Name.replace(/^\//, ""),
    status: containerStatus(state.Status),
    labels: info.Config.Labels ?? {},
    restartCount: info.RestartCount ?? 0,
    // 0 without a limit.
    maxRestarts: info.HostConfig.RestartPolicy?.MaximumRetryCount || undefined,
    exitCode: state.ExitCode ?? 0,
    oomKilled: state.OOMKilled ?? false,
    startedAt: state.StartedAt ?? "",
    finishedAt: state.FinishedAt ?? "",
    health: healthStatus(info, health?.Status),
    healthOutput: health?.Log?.at(-1)?.Output?.trim() ?? "",
    healthcheck: healthcheckTimes(info),
  };
}

type Health = NonNullable<ContainerInspectInfo["State"]["Health"]>;

/** Some versions of Podman call it `Healthcheck`, and it is empty if there is no check. */
function healthOf(state: ContainerInspectInfo["State"]): Partial<Health> | undefined {
  return state.Health ?? (state as { Healthcheck?: Partial<Health> }).Healthcheck;
}

function healthStatus(info: ContainerInspectInfo, status: string | undefined): HealthStatus {
  if (status === "starting" || status === "healthy" || status === "unhealthy") return status;
  return configuredCheck(info) ? "starting" : "none";
}

/** Durations in nanoseconds; absent or 0 for the engine's default. */
interface ConfiguredCheck {
  readonly Test?: readonly string[];
  readonly StartPeriod?: number;
  readonly Interval?: number;
  readonly Timeout?: number;
  readonly Retries?: number;
}

/** Returns the container's health check; `undefined` if it has none. */
function configuredCheck(info: ContainerInspectInfo): ConfiguredCheck | undefined {
  const check = (info.Config as { Healthcheck?: ConfiguredCheck | null }).Healthcheck;
  const [first] = check?.Test ?? [];
  return check && first !== undefined && first !== "NONE" ? check : undefined;
}

// What Docker and Podman apply where a health check says nothing.
const DEFAULT_CHECK_MS = 30_000;
const DEFAULT_CHECK_RETRIES = 3;

function healthcheckTimes(info: ContainerInspectInfo): HealthcheckTimes | undefined {
  const check = configuredCheck(info);
  if (!check) return undefined;
  return {
    startPeriodMs: toMs(check.StartPeriod),
    intervalMs: toMs(check.Interval) || DEFAULT_CHECK_MS,
    timeoutMs: toMs(check.Timeout) || DEFAULT_CHECK_MS,
    retries: check.Retries || DEFAULT_CHECK_RETRIES,
  };
}

function toMs(nanoseconds: number | undefined): number {
  return (nanoseconds ?? 0) / 1_000_000;
}
