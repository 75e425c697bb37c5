import { Option } from "commander";
import { canonicalCapability } from "../../protocol/apps/capabilities.ts";
import type { ContainerOptions } from "../../protocol/apps/container-options.ts";
import { normalizePath } from "../../protocol/values/normalize-path.ts";
import { usageFailure } from "../failure.ts";
import {
  type ExtraHost,
  type KeyValue,
  parseCapability,
  parseExtraHost,
  parseGpus,
  parseKeyValue,
  parseSize,
  parseSwap,
  parseTmpfs,
  parseUlimit,
  type TmpfsMount,
  type Ulimit,
} from "./parse-options.ts";

/** An option of the command line for an option of an app's container. */
interface ContainerFlag {
  /** The field of the request. */
  readonly field: keyof ContainerOptions;
  /** As commander reads it. */
  readonly flags: string;
  readonly help: string;
  readonly parse?: (text: string) => unknown;
  /** It takes a whole number in this range. */
  readonly range?: readonly [min: number, max: number];
  /** Each use of it adds a value to a list. */
  readonly isRepeatable?: true;
  /** Adds the option's entries to those of the field. Absent: the option replaces the field. */
  readonly merge?: (entries: readonly never[]) => Merge;
  /** The option's value is this part of the field, which is an object. */
  readonly part?: string;
  /** Can be taken back with `--no-…`. */
  readonly isNegatable?: true;
  /** Its name for `--clear`. Default: the option's own. */
  readonly clear?: string;
}

/** The options of an app's container: each has a row. Their names are those of `docker run`. */
export const CONTAINER_FLAGS: readonly ContainerFlag[] = [
  {
    field: "entrypoint",
    flags: "--entrypoint <argument>",
    help: "in place of the image's own (repeatable, one argument each)",
    isRepeatable: true,
  },
  { field: "user", flags: "--user <user[:group]>", help: "user the app runs as, by name or number" },
  { field: "working_dir", flags: "--workdir <path>", help: "directory in which the app starts" },
  {
    field: "cap_add",
    flags: "--cap-add <capability>",
    help: "give the app a capability, such as NET_ADMIN (repeatable)",
    parse: parseCapability,
    isRepeatable: true,
    merge: intoList(canonicalCapability),
  },
  {
    field: "cap_drop",
    flags: "--cap-drop <capability>",
    help: "take a capability from the app, or ALL (repeatable)",
    parse: parseCapability,
    isRepeatable: true,
    merge: intoList(canonicalCapability),
  },
  { field: "read_only", flags: "--read-only", help: "let the app write only to its mounts", isNegatable: true },
  {
    field: "tmpfs",
    flags: "--tmpfs <path[:options]>",
    help: "a directory in memory, such as /run:size=64MiB; options: size, mode, uid, gid, exec (repeatable)",
    parse: parseTmpfs,
    isRepeatable: true,
    merge: intoList(({ target }: TmpfsMount) => normalizePath(target)),
  },
  { field: "shm_size", flags: "--shm-size <size>", help: "size of /dev/shm, such as 128MiB", parse: parseSize },
  {
    field: "ulimits",
    flags: "--ulimit <name=soft[:hard]>",
    help: "limit of the app's processes, such as nofile=65536 (repeatable)",
    parse: parseUlimit,
    isRepeatable: true,
    merge: intoList(({ name }: Ulimit) => name),
    clear: "ulimits",
  },
  {
    field: "sysctls",
    flags: "--sysctl <key=value>",
    help: "kernel parameter of the app's own, such as net.core.somaxconn=1024 (repeatable)",
    parse: parseKeyValue,
    isRepeatable: true,
    merge: intoMap,
    clear: "sysctls",
  },
  {
    field: "extra_hosts",
    flags: "--add-host <name:address>",
    help: "host name the app finds; host-gateway is the device (repeatable)",
    parse: parseExtraHost,
    isRepeatable: true,
    merge: intoList(({ name }: ExtraHost) => name),
  },
  {
    field: "dns",
    flags: "--dns <address>",
    help: "name server in place of the device's (repeatable)",
    isRepeatable: true,
  },
  {
    field: "dns_search",
    flags: "--dns-search <domain>",
    help: "domain of short names in place of the device's (repeatable)",
    isRepeatable: true,
  },
  {
    field: "dns_options",
    flags: "--dns-option <option>",
    help: "option of resolv.conf, such as ndots:1 (repeatable)",
    isRepeatable: true,
  },
  { field: "hostname", flags: "--hostname <name>", help: "host name the app sees as its own" },
  {
    field: "labels",
    flags: "--label <key=value>",
    help: "label of the app's container (repeatable)",
    parse: parseKeyValue,
    isRepeatable: true,
    merge: intoMap,
    clear: "labels",
  },
  { field: "init", flags: "--init", help: "run a small init process around the app", isNegatable: true },
  { field: "stop_signal", flags: "--stop-signal <signal>", help: "what asks the app to end, such as SIGINT" },
  {
    field: "stop_grace_s",
    flags: "--stop-timeout <seconds>",
    help: "how long it may take to end before it is killed",
    range: [0, 600],
  },
  {
    field: "log",
    flags: "--log-max-size <size>",
    help: "size of one file of the app's log, such as 1MiB",
    parse: parseSize,
    part: "max_bytes",
    clear: "log",
  },
  {
    field: "log",
    flags: "--log-max-files <n>",
    help: "how many such files are kept",
    range: [1, 100],
    part: "max_files",
    clear: "log",
  },
  {
    field: "group_add",
    flags: "--group-add <group>",
    help: "further group of the app's processes, by name or number (repeatable)",
    isRepeatable: true,
  },
  {
    field: "pids_limit",
    flags: "--pids-limit <n>",
    help: "most processes and threads of the app",
    range: [1, 4_194_304],
  },
  {
    field: "security_opt",
    flags: "--security-opt <option>",
    help: "no-new-privileges, seccomp=unconfined, apparmor=PROFILE or label=disable (repeatable)",
    isRepeatable: true,
  },
  {
    field: "device_cgroup_rules",
    flags: "--device-cgroup-rule <rule>",
    help: "device files by their numbers, such as 'c 188:* rw', which the device must allow (repeatable)",
    isRepeatable: true,
    clear: "device-cgroup-rules",
  },
  { field: "pid", flags: "--pid <host>", help: "see the device's processes, which the device must allow" },
  { field: "ipc", flags: "--ipc <host>", help: "have the device's shared memory, which the device must allow" },
  {
    field: "memory_swap_limit",
    flags: "--memory-swap <size|-1>",
    help: "most memory and swap together; -1 for all swap there is",
    parse: parseSwap,
  },
  { field: "no_healthcheck", flags: "--without-healthcheck", help: "leave out the health check of the image" },
  {
    field: "max_restarts",
    flags: "--max-restarts <n>",
    help: "with --restart on-failure: how often it is started again before it stays down",
    range: [1, 100],
  },
  { field: "tty", flags: "--tty", help: "give the app a terminal", isNegatable: true },
  { field: "stdin_open", flags: "--interactive", help: "keep the app's input open", isNegatable: true },
  {
    field: "gpus",
    flags: "--gpus <all|ids>",
    help: "give the app GPUs: all, or indexes or UUIDs with commas between",
    parse: parseGpus,
  },
];

/** The names for `--clear`, with the field of the request and its cleared value. */
export const CLEARED_CONTAINER_FIELDS: Readonly<Record<string, readonly [field: string, value: null]>> =
  Object.fromEntries(
    CONTAINER_FLAGS.map(({ field, flags, clear }) => [clear ?? new Option(flags).name(), [field, null] as const]),
  );

/**
 * Returns the fields with one value, and those that are given as a whole. Errors: exit code 2.
 * @param given the options of the command line, as commander passes them
 */
export function containerScalars(given: object): Readonly<Record<string, unknown>> {
  const values = new Map<string, unknown>(Object.entries(given));
  const fields: Record<string, unknown> = {};
  for (const row of CONTAINER_FLAGS.filter(({ merge }) => !merge)) {
    const { field, part } = row;
    const value = values.get(nameOf(row));
    if (value === undefined) continue;
    fields[field] = part === undefined ? value : { ...(fields[field] as object | undefined), [part]: value };
  }
  if (values.has("logMaxFiles") && !values.has("logMaxSize"))
    throw usageFailure("--log-max-files needs a size.", "Give --log-max-size too, such as --log-max-size 1MiB.");
  return fields;
}

/** Returns the name under which commander passes the option's value. */
function nameOf({ flags }: ContainerFlag): string {
  return new Option(flags).attributeName();
}

/** Adds entries to a field of a request; one of the same name or path is replaced. */
type Merge = (existing: unknown) => unknown;

/** Fields of which options add single entries, by the name of the field. */
export type ContainerEntries = Readonly<Record<string, Merge>>;

/** Returns the fields of which entries are given. @param given the options of the command line, as commander passes them */
export function containerEntries(given: object): ContainerEntries {
  const values = new Map(Object.entries(given));
  return Object.fromEntries(
    CONTAINER_FLAGS.flatMap((row): [string, Merge][] => {
      const entries: unknown = values.get(nameOf(row));
      return row.merge && Array.isArray(entries) ? [[row.field, row.merge(entries as never[])]] : [];
    }),
  );
}

/** Merges the entries into the request, in place. */
export function mergeContainerEntries(request: Record<string, unknown>, entries: ContainerEntries = {}): void {
  for (const [field, merge] of Object.entries(entries)) request[field] = merge(request[field] ?? undefined);
}

/** A value that is not a list is sent unchanged: the service refuses it. */
function intoList<T>(identify: (entry: T) => string): (entries: readonly T[]) => Merge {
  return (entries) => {
    const given = new Set(entries.map(identify));
    return (existing = []) => {
      if (!Array.isArray(existing)) return existing;
      return [...existing.filter((entry: T) => !isIn(given, entry, identify)), ...entries];
    };
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
