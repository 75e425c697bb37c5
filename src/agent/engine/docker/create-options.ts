import type { ContainerCreateOptions, HostConfig } from "dockerode";
import type { ContainerRequest, EngineInfo, HealthcheckRequest, PortRequest } from "../engine.ts";
import { localReference } from "./engine-reference.ts";

/** The body of the engine's create call. */
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
      ...volumes(request.volumes),
      PortBindings: portBindings(ports),
      RestartPolicy: { Name: request.restartPolicy },
      LogConfig: logConfig(request.logLimit, kind),
      Privileged: request.privileged,
      ...limits(request),
      ...(request.hostNetwork ? { NetworkMode: "host" } : {}),
    },
  };
}

/** No host address: the engine publishes on all of them, IPv4 and IPv6. */
function portBindings(ports: ContainerRequest["ports"]): Record<string, { HostPort: string }[]> {
  const bindings: Record<string, { HostPort: string }[]> = {};
  for (const port of ports) (bindings[target(port)] ??= []).push({ HostPort: String(port.hostPort) });
  return bindings;
}

function target({ targetPort, protocol = "tcp" }: PortRequest): string {
  return `${targetPort}/${protocol}`;
}

const NANOSECONDS = 1_000_000_000;

/** What the container may use of the machine. */
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

/**
 * A bind creates a host directory that is missing, but its text form cannot carry a colon in a path. A mount can, and
 * creates the directory with Docker 23 and later.
 */
function volumes(volumes: ContainerRequest["volumes"]): Pick<HostConfig, "Binds" | "Mounts"> {
  const binds = volumes.filter((volume) => !hasColon(volume));
  const mounts = volumes.filter(hasColon);
  return {
    Binds: binds.map(({ local, target, readonly }) => `${local}:${target}${readonly ? ":ro" : ""}`),
    Mounts: mounts.map(({ local, target, readonly }) => ({
      Type: "bind",
      Source: local,
      Target: target,
      ReadOnly: readonly,
      BindOptions: { Propagation: "rprivate", CreateMountpoint: true },
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
  // Podman keeps a single file and starts it anew when it is full: one file, as large as all of Docker's.
  return { Type: "k8s-file", Config: { "max-size": String(limit.maxBytes * limit.maxFiles) } };
}
