import { canonicalCapability } from "./capabilities.ts";
import type { ContainerOptions } from "./container-options.ts";
import { normalizePath } from "../values/normalize-path.ts";

/**
 * Returns the container options that differ from their defaults, in fixed order and in one form for options that mean the
 * same.
 */
export function canonicalOptions(options: ContainerOptions): ContainerOptions {
  const { entrypoint, user, working_dir, cap_add = [], cap_drop = [], read_only, tmpfs = [], shm_size } = options;
  const { ulimits = [], sysctls = {}, extra_hosts = [], dns = [], hostname, labels = {}, init } = options;
  const { stop_signal, stop_grace_s, log, gpus, group_add = [], pids_limit, security_opt = [] } = options;
  const { pid, ipc, memory_swap_limit, no_healthcheck } = options;
  return {
    ...(entrypoint && { entrypoint }),
    ...(user !== undefined && { user }),
    ...(working_dir !== undefined && { working_dir: normalizePath(working_dir) }),
    ...(cap_add.length > 0 && { cap_add: canonicalCapabilities(cap_add) }),
    ...(cap_drop.length > 0 && { cap_drop: canonicalCapabilities(cap_drop) }),
    ...(read_only === true && { read_only }),
    ...(tmpfs.length > 0 && { tmpfs: tmpfs.map(canonicalTmpfs) }),
    ...(shm_size !== undefined && { shm_size }),
    ...(ulimits.length > 0 && { ulimits: ulimits.map(({ name, soft, hard = soft }) => ({ name, soft, hard })) }),
    ...(!isEmpty(sysctls) && { sysctls: inOrder(sysctls) }),
    ...(extra_hosts.length > 0 && { extra_hosts: extra_hosts.map(({ name, address }) => ({ name, address })) }),
    ...(dns.length > 0 && { dns }),
    ...(hostname !== undefined && { hostname }),
    ...(!isEmpty(labels) && { labels: inOrder(labels) }),
    ...(init === true && { init }),
    ...(stop_signal !== undefined && { stop_signal }),
    ...(stop_grace_s !== undefined && { stop_grace_s }),
    ...(log && { log: { max_bytes: log.max_bytes, max_files: log.max_files } }),
    ...(gpus !== undefined && { gpus: gpus === "all" ? gpus : { ids: gpus.ids } }),
    ...(group_add.length > 0 && { group_add: group_add.toSorted() }),
    ...(pids_limit !== undefined && { pids_limit }),
    ...(security_opt.length > 0 && { security_opt: security_opt.toSorted() }),
    ...(pid && { pid }),
    ...(ipc && { ipc }),
    ...(memory_swap_limit !== undefined && { memory_swap_limit }),
    ...(no_healthcheck === true && { no_healthcheck }),
  };
}

function canonicalCapabilities(names: readonly string[]): string[] {
  return [...new Set(names.map(canonicalCapability))].toSorted();
}

type TmpfsMount = NonNullable<ContainerOptions["tmpfs"]>[number];

function canonicalTmpfs({ target, size_bytes, mode, exec }: TmpfsMount): TmpfsMount {
  return {
    target: normalizePath(target),
    ...(size_bytes !== undefined && { size_bytes }),
    ...(mode !== undefined && { mode: mode.padStart(4, "0") }),
    ...(exec === true && { exec }),
  };
}

function isEmpty(map: Readonly<Record<string, string>>): boolean {
  return Object.keys(map).length === 0;
}

function inOrder(map: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(map).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
