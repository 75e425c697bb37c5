import { canonicalCapability } from "../../protocol/apps/capabilities.ts";
import { normalizePath } from "../../protocol/values/normalize-path.ts";
import { usageFailure } from "../failure.ts";
import type { ExtraHost, KeyValue, TmpfsMount, Ulimit } from "./parse-options.ts";

/** The options of an app's container, as commander passes them. Sizes in bytes, times in seconds. */
export interface ContainerFlags {
  readonly entrypoint?: readonly string[];
  readonly user?: string;
  readonly workdir?: string;
  readonly capAdd?: readonly string[];
  readonly capDrop?: readonly string[];
  readonly readOnly?: boolean;
  readonly tmpfs?: readonly TmpfsMount[];
  readonly shmSize?: number;
  readonly ulimit?: readonly Ulimit[];
  readonly sysctl?: readonly KeyValue[];
  readonly addHost?: readonly ExtraHost[];
  readonly dns?: readonly string[];
  readonly hostname?: string;
  readonly label?: readonly KeyValue[];
  readonly init?: boolean;
  readonly stopSignal?: string;
  readonly stopTimeout?: number;
  readonly logMaxSize?: number;
  readonly logMaxFiles?: number;
  readonly gpus?: unknown;
  readonly groupAdd?: readonly string[];
  readonly pidsLimit?: number;
  readonly securityOpt?: readonly string[];
  readonly pid?: string;
  readonly ipc?: string;
  readonly memorySwap?: number;
  readonly withoutHealthcheck?: boolean;
}

/** The names for `--clear`, with the field of the request and its cleared value. */
export const CLEARED_CONTAINER_FIELDS = {
  entrypoint: ["entrypoint", null],
  user: ["user", null],
  workdir: ["working_dir", null],
  "cap-add": ["cap_add", null],
  "cap-drop": ["cap_drop", null],
  "read-only": ["read_only", null],
  tmpfs: ["tmpfs", null],
  "shm-size": ["shm_size", null],
  ulimits: ["ulimits", null],
  sysctls: ["sysctls", null],
  "add-host": ["extra_hosts", null],
  dns: ["dns", null],
  hostname: ["hostname", null],
  labels: ["labels", null],
  init: ["init", null],
  "stop-signal": ["stop_signal", null],
  "stop-timeout": ["stop_grace_s", null],
  log: ["log", null],
  gpus: ["gpus", null],
  "group-add": ["group_add", null],
  "pids-limit": ["pids_limit", null],
  "security-opt": ["security_opt", null],
  pid: ["pid", null],
  ipc: ["ipc", null],
  "memory-swap": ["memory_swap_limit", null],
  "without-healthcheck": ["no_healthcheck", null],
} as const satisfies Readonly<Record<string, readonly [field: string, value: null]>>;

/** Returns the fields with one value, and those that are given as a whole. Errors: exit code 2. */
export function containerScalars(flags: ContainerFlags): Readonly<Record<string, unknown>> {
  return {
    entrypoint: flags.entrypoint,
    user: flags.user,
    working_dir: flags.workdir,
    read_only: flags.readOnly,
    shm_size: flags.shmSize,
    dns: flags.dns,
    hostname: flags.hostname,
    init: flags.init,
    stop_signal: flags.stopSignal,
    stop_grace_s: flags.stopTimeout,
    log: logOf(flags),
    gpus: flags.gpus,
    group_add: flags.groupAdd,
    pids_limit: flags.pidsLimit,
    security_opt: flags.securityOpt,
    pid: flags.pid,
    ipc: flags.ipc,
    memory_swap_limit: flags.memorySwap,
    no_healthcheck: flags.withoutHealthcheck,
  };
}

function logOf({ logMaxSize, logMaxFiles }: ContainerFlags): object | undefined {
  if (logMaxSize !== undefined)
    return { max_bytes: logMaxSize, ...(logMaxFiles !== undefined && { max_files: logMaxFiles }) };
  if (logMaxFiles === undefined) return undefined;
  throw usageFailure("--log-max-files needs a size.", "Give --log-max-size too, such as --log-max-size 1MiB.");
}

/** Adds entries to a field of a request; one of the same name or path is replaced. */
type Merge = (existing: unknown) => unknown;

/** Fields of which options add single entries, by the name of the field. */
export type ContainerEntries = Readonly<Record<string, Merge>>;

/** Returns the fields of which entries are given. */
export function containerEntries(flags: ContainerFlags): ContainerEntries {
  const { capAdd = [], capDrop = [], tmpfs = [], ulimit = [], addHost = [], sysctl = [], label = [] } = flags;
  return {
    ...(capAdd.length > 0 && { cap_add: intoList(capAdd, canonicalCapability) }),
    ...(capDrop.length > 0 && { cap_drop: intoList(capDrop, canonicalCapability) }),
    ...(tmpfs.length > 0 && { tmpfs: intoList(tmpfs, ({ target }) => normalizePath(target)) }),
    ...(ulimit.length > 0 && { ulimits: intoList(ulimit, ({ name }) => name) }),
    ...(addHost.length > 0 && { extra_hosts: intoList(addHost, ({ name }) => name) }),
    ...(sysctl.length > 0 && { sysctls: intoMap(sysctl) }),
    ...(label.length > 0 && { labels: intoMap(label) }),
  };
}

/** Merges the entries into the request, in place. */
export function mergeContainerEntries(request: Record<string, unknown>, entries: ContainerEntries = {}): void {
  for (const [field, merge] of Object.entries(entries)) request[field] = merge(request[field] ?? undefined);
}

/** A value that is not a list is sent unchanged: the service refuses it. */
function intoList<T>(entries: readonly T[], identify: (entry: T) => string): Merge {
  const given = new Set(entries.map(identify));
  return (existing = []) => {
    if (!Array.isArray(existing)) return existing;
    return [...existing.filter((entry: T) => !isIn(given, entry, identify)), ...entries];
  };
}

/** An entry of another shape than expected stays: the service refuses it. */
function isIn<T>(given: ReadonlySet<string>, entry: T, identify: (entry: T) => string): boolean {
  try {
    return given.has(identify(entry));
  } catch {
    return false;
  }
}

function intoMap(entries: readonly KeyValue[]): Merge {
  return (existing = {}) => {
    if (typeof existing !== "object" || existing === null || Array.isArray(existing)) return existing;
    return { ...existing, ...Object.fromEntries(entries) };
  };
}
