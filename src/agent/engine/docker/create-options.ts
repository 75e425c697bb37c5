import type { ContainerCreateOptions, HostConfig, MountSettings } from "dockerode";
import type { ContainerRequest, EngineInfo, HealthcheckRequest, PortRequest } from "../engine.ts";
import { localReference } from "./engine-reference.ts";

/** Returns the body of the engine's create call. */
export function createOptions(request: ContainerRequest, kind: EngineInfo["kind"]): ContainerCreateOptions {
  const ports = request.hostNetwork ? [] : request.ports;
  return {
    name: request.name,
    Image: localReference(request.image),
    Labels: { ...request.labels },
    Env: [...request.environment],
    ExposedPorts: Object.fromEntries(ports.map((port) => [target(port), {}])),
    ...(request.command && { Cmd: [...request.command] }),
    ...(request.healthcheck && { Healthcheck: healthcheck(request.healthcheck) }),
    HostConfig: {
      ...mounts(request, kind),
      PortBindings: portBindings(ports),
      RestartPolicy: { Name: request.restartPolicy },
      LogConfig: logConfig(request.logLimit, kind),
      Privileged: request.privileged,
      ...limits(request),
      ...(request.hostNetwork ? { NetworkMode: "host" } : {}),
    },
  };
}

/** Without a host address, the engine publishes a port on all IPv4 and IPv6 addresses. */
function portBindings(ports: ContainerRequest["ports"]): Record<string, { HostPort: string }[]> {
  const bindings: Record<string, { HostPort: string }[]> = {};
  for (const port of ports) (bindings[target(port)] ??= []).push({ HostPort: String(port.hostPort) });
  return bindings;
}

function target({ targetPort, protocol = "tcp" }: PortRequest): string {
  return `${targetPort}/${protocol}`;
}

const NANOSECONDS = 1_000_000_000;

/** Returns the container's resource limits and devices. */
function limits({
  cpuLimit,
  memoryLimit,
  devices,
}: ContainerRequest): Pick<HostConfig, "NanoCpus" | "Memory" | "Devices"> {
  return {
    ...(cpuLimit !== undefined && { NanoCpus: Math.round(cpuLimit * NANOSECONDS) }),
    ...(memoryLimit !== undefined && { Memory: memoryLimit }),
    ...(devices && {
      Devices: devices.map(({ local, target, permissions }) => ({
        PathOnHost: local,
        PathInContainer: target,
        CgroupPermissions: permissions,
      })),
    }),
  };
}

function healthcheck(check: HealthcheckRequest): ContainerCreateOptions["Healthcheck"] {
  return {
    Test: ["CMD", ...check.command],
    Interval: nanoseconds(check.intervalS),
    Timeout: nanoseconds(check.timeoutS),
    Retries: check.retries,
    StartPeriod: nanoseconds(check.startPeriodS),
  };
}

function nanoseconds(seconds: number): number {
  return Math.round(seconds * NANOSECONDS);
}

/** Files are mounts in every engine: their place may have any character. */
function mounts(
  { volumes: requested, files = [] }: ContainerRequest,
  kind: EngineInfo["kind"],
): Pick<HostConfig, "Binds" | "Mounts"> {
  const { Binds = [], Mounts = [] } = volumes(requested, kind);
  return { Binds, Mounts: [...Mounts, ...files.map(toFileMount)] };
}

function toFileMount({ source, target }: NonNullable<ContainerRequest["files"]>[number]): MountSettings {
  return {
    Type: "bind",
    Source: source,
    Target: target,
    ReadOnly: true,
    BindOptions: { Propagation: "rprivate" },
  };
}

/**
 * With Docker, a mount is refused if its path on the device does not exist; a bind, the form of earlier releases, made a
 * directory of root's there. Podman makes one for both; a bind keeps the order, but cannot contain a colon.
 */
function volumes(volumes: ContainerRequest["volumes"], kind: EngineInfo["kind"]): Pick<HostConfig, "Binds" | "Mounts"> {
  const isBind = (volume: ContainerRequest["volumes"][number]): boolean => kind === "podman" && !hasColon(volume);
  const binds = volumes.filter(isBind);
  const mounts = volumes.filter((volume) => !isBind(volume));
  return {
    Binds: binds.map(({ local, target, readonly }) => `${local}:${target}${readonly ? ":ro" : ""}`),
    Mounts: mounts.map(({ local, target, readonly }) => ({
      Type: "bind",
      Source: local,
      Target: target,
      ReadOnly: readonly,
      BindOptions: { Propagation: "rprivate" },
    })),
  };
}

function hasColon({ local, target }: ContainerRequest["volumes"][number]): boolean {
  return local.includes(":") || target.includes(":");
}

function logConfig(limit: ContainerRequest["logLimit"], kind: EngineInfo["kind"]): HostConfig["LogConfig"] {
  if (kind === "docker") {
    const Config = { "max-size": String(limit.maxBytes), "max-file": String(limit.maxFiles) };
    return { Type: "json-file", Config };
  }
  // Podman keeps a single file and truncates it when it is full: allow the size of all of Docker's files.
  return { Type: "k8s-file", Config: { "max-size": String(limit.maxBytes * limit.maxFiles) } };
}
