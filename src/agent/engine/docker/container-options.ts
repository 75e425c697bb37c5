import type { ContainerCreateOptions, HostConfig } from "dockerode";
import type { ContainerOptions } from "../../../protocol/apps/container-options.ts";
import { parseOwner } from "../../../protocol/apps/volume-fields.ts";
import type { ContainerRequest, EngineInfo } from "../engine.ts";

type Options = ContainerRequest["options"];

/** Returns the options that the body of the engine's create call has at the top. */
export function containerFields(options: Options = {}): Partial<ContainerCreateOptions> {
  const { entrypoint, user, working_dir, hostname, stop_signal, stop_grace_s, no_healthcheck, tty, stdin_open } =
    options;
  return {
    ...(entrypoint && { Entrypoint: [...entrypoint] }),
    ...(user !== undefined && { User: user }),
    ...(working_dir !== undefined && { WorkingDir: working_dir }),
    ...(hostname !== undefined && { Hostname: hostname }),
    ...(stop_signal !== undefined && { StopSignal: stop_signal }),
    // The engine's own, for when it stops the container itself, as at a reboot.
    ...(stop_grace_s !== undefined && { StopTimeout: stop_grace_s }),
    ...(tty === true && { Tty: true }),
    ...(stdin_open === true && { OpenStdin: true }),
    ...(no_healthcheck === true && { Healthcheck: { Test: ["NONE"] } }),
  };
}

const SHM_BYTES = 64 * 1024 * 1024;
/** The most that Linux can have. Not -1: crun before 1.13, such as Debian 12's, starts no container with that on control groups v1. */
const MAX_PIDS = 4_194_304;

/** Returns what Docker gives every container, and Podman only those that ask for it. */
export function podmanDefaults({ options, hostNetwork }: ContainerRequest, isRootless: boolean): Partial<HostConfig> {
  const sysctls = {
    // Users other than root listen on ports below 1024, and send pings.
    ...(!hostNetwork && { "net.ipv4.ip_unprivileged_port_start": "0" }),
    // A rootless Podman does not have all these groups.
    ...(!hostNetwork && !isRootless && { "net.ipv4.ping_group_range": "0 2147483647" }),
    ...options?.sysctls,
  };
  // The device's shared memory has the device's size.
  return { ...(!options?.ipc && { ShmSize: SHM_BYTES }), PidsLimit: MAX_PIDS, Sysctls: sysctls };
}

/** Returns the options that belong to the `HostConfig` of the engine's create call. */
export function hostFields(options: Options = {}, kind: EngineInfo["kind"]): Partial<HostConfig> {
  const { cap_add, cap_drop, read_only, tmpfs, shm_size, ulimits, sysctls, extra_hosts, init, gpus } = options;
  const { dns, dns_search, dns_options } = options;
  const { group_add, pids_limit, security_opt, pid, ipc, memory_swap_limit, device_cgroup_rules } = options;
  return {
    ...(cap_add && { CapAdd: [...cap_add] }),
    ...(cap_drop && { CapDrop: [...cap_drop] }),
    ...(read_only === true && { ReadonlyRootfs: true }),
    ...(tmpfs && { Tmpfs: Object.fromEntries(tmpfs.map((mount) => [mount.target, mountOptions(mount, kind)])) }),
    ...(shm_size !== undefined && { ShmSize: shm_size }),
    ...(ulimits && { Ulimits: ulimits.map(({ name, soft, hard = soft }) => ({ Name: name, Soft: soft, Hard: hard })) }),
    ...(sysctls && kind === "docker" && { Sysctls: { ...sysctls } }),
    ...(extra_hosts && { ExtraHosts: extra_hosts.map(({ name, address }) => `${name}:${address}`) }),
    ...(dns && { Dns: [...dns] }),
    ...(dns_search && { DnsSearch: [...dns_search] }),
    ...(dns_options && { DnsOptions: [...dns_options] }),
    ...(init === true && { Init: true }),
    ...(gpus !== undefined && { DeviceRequests: [deviceRequest(gpus)] }),
    ...(group_add && { GroupAdd: [...group_add] }),
    ...(pids_limit !== undefined && { PidsLimit: pids_limit }),
    ...(security_opt && { SecurityOpt: [...security_opt] }),
    ...(pid && { PidMode: pid }),
    ...(ipc && { IpcMode: ipc }),
    ...(device_cgroup_rules && { DeviceCgroupRules: [...device_cgroup_rules] }),
    ...(memory_swap_limit !== undefined && { MemorySwap: memory_swap_limit }),
  };
}

type Tmpfs = NonNullable<ContainerOptions["tmpfs"]>[number];

function mountOptions({ size_bytes, mode, owner = "", exec = false }: Tmpfs, kind: EngineInfo["kind"]): string {
  const ids = parseOwner(owner);
  const entries = [
    // As with Docker: Podman's own are executable, and begin with the image's files.
    ...(kind === "podman" && !exec ? ["noexec"] : []),
    ...(kind === "podman" ? ["notmpcopyup"] : []),
    ...(exec ? ["exec"] : []),
    ...(size_bytes === undefined ? [] : [`size=${size_bytes}`]),
    ...(mode === undefined ? [] : [`mode=${mode}`]),
    ...(ids ? [`uid=${ids.uid}`, `gid=${ids.gid}`] : []),
  ];
  return entries.join(",");
}

type Gpus = NonNullable<ContainerOptions["gpus"]>;

function deviceRequest(gpus: Gpus): NonNullable<HostConfig["DeviceRequests"]>[number] {
  const which = gpus === "all" ? { Count: -1 } : { DeviceIDs: [...gpus.ids] };
  return { ...which, Capabilities: [["gpu"]] };
}
