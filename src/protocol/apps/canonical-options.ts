import { canonicalCapability } from "./capabilities.ts";
import { type ContainerOptions, containerOptions } from "./container-options.ts";
import { canonicalDeviceRule } from "./container-rights.ts";
import { normalizePath } from "../values/normalize-path.ts";

type Name = keyof ContainerOptions;
type Convert = { readonly [K in Name]?: (value: NonNullable<ContainerOptions[K]>) => NonNullable<ContainerOptions[K]> };

/** Options of which two values may mean the same, and the form in which those are equal. */
const CANONICAL: Convert = {
  working_dir: normalizePath,
  cap_add: canonicalCapabilities,
  cap_drop: canonicalCapabilities,
  tmpfs: (mounts) => mounts.map(canonicalTmpfs),
  ulimits: (limits) => limits.map(({ name, soft, hard = soft }) => ({ name, soft, hard })),
  sysctls: inOrder,
  extra_hosts: (hosts) => hosts.map(({ name, address }) => ({ name, address })),
  labels: inOrder,
  log: ({ max_bytes, max_files }) => ({ max_bytes, max_files }),
  group_add: (groups) => groups.toSorted(),
  device_cgroup_rules: (rules) => [...new Set(rules.map(canonicalDeviceRule))].toSorted(),
  security_opt: (options) => options.toSorted(),
};

const NAMES = Object.keys(containerOptions) as Name[];

/**
 * Returns the container options that differ from their defaults, in fixed order and in one form for options that mean the
 * same. `false`, an empty list and an empty object mean the same as an option's absence.
 */
export function canonicalOptions(options: ContainerOptions): ContainerOptions {
  return Object.fromEntries(
    NAMES.filter((name) => !isAbsent(options[name])).map((name) => [name, canonical(name, options)]),
  );
}

function canonical(name: Name, options: ContainerOptions): unknown {
  const convert = CANONICAL[name] as ((value: unknown) => unknown) | undefined;
  return convert ? convert(options[name]) : options[name];
}

function isAbsent(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.keys(value).length === 0;
  return value === undefined || value === null || value === false;
}

function canonicalCapabilities(names: readonly string[]): string[] {
  return [...new Set(names.map(canonicalCapability))].toSorted();
}

type TmpfsMount = NonNullable<ContainerOptions["tmpfs"]>[number];

function canonicalTmpfs({ target, size_bytes, mode, owner, exec }: TmpfsMount): TmpfsMount {
  return {
    target: normalizePath(target),
    ...(size_bytes !== undefined && { size_bytes }),
    ...(mode !== undefined && { mode: mode.padStart(4, "0") }),
    ...(owner !== undefined && { owner }),
    ...(exec === true && { exec }),
  };
}

function inOrder(map: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(map).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
