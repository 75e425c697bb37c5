import { normalizePath } from "../../protocol/normalize-path.ts";
import type { AppSpec } from "../../protocol/app-spec.ts";
import { parseImageReference } from "../../protocol/image-reference.ts";

/** What the device allows, whoever asks. Set by its owner in the device's configuration. */
export interface Policy {
  readonly privileged: boolean;
  readonly host_network: boolean;
  readonly mounts: {
    /** Path prefixes apps may mount; an empty list allows every path that is not denied. */
    readonly allow: readonly string[];
    /** Path prefixes apps may never mount, nor a directory that holds one of them. */
    readonly deny: readonly string[];
  };
  /** Where nothing is said of devices, apps may use them exactly if they may be privileged. */
  readonly devices?:
    | {
        /** Path prefixes of device files apps may use; an empty list allows every one that is not denied. */
        readonly allow: readonly string[];
        readonly deny: readonly string[];
      }
    | undefined;
  /** Largest image that is downloaded, in compressed bytes; left out for no bound. */
  readonly max_image_bytes?: number | undefined;
  readonly registries: {
    /** Registry hosts images may come from, as written in references; an empty list allows all. */
    readonly allow: readonly string[];
  };
}

/** A rule of the policy that a request breaks. */
export interface PolicyViolation {
  /** Name of the configuration key, such as `policy.mounts.deny`. */
  readonly rule: string;
  readonly message: string;
}

/**
 * The first rule the request breaks.
 *
 * @param resolved the real path of each `local`, symbolic links followed, in the order of `spec.volumes` and `devices`
 * @param guarded paths that give an app the whole device or the agent's secrets, such as the engine's socket: refused
 *   like denied ones, unless the owner allows exactly such a path
 */
export function violation(
  spec: AppSpec,
  policy: Policy,
  resolved: { readonly volumes: readonly string[]; readonly devices: readonly string[] },
  guarded: readonly string[],
): PolicyViolation | undefined {
  if (spec.privileged && !policy.privileged) {
    return { rule: "policy.privileged", message: "This device does not allow privileged apps." };
  }
  if (spec.host_network && !policy.host_network) {
    return { rule: "policy.host_network", message: "This device does not allow apps on the host's network." };
  }
  return (
    registryViolation(spec, policy) ??
    mountViolation(spec, policy, resolved.volumes, guarded) ??
    deviceViolation(spec, policy, resolved.devices)
  );
}

/** A device file may be worth as much as the whole machine, such as that of its disk. */
function deviceViolation(
  { devices = [] }: AppSpec,
  { devices: rules, privileged }: Policy,
  resolved: readonly string[],
): PolicyViolation | undefined {
  if (devices.length === 0 || (!rules && privileged)) return undefined;
  if (!rules) {
    const message = "This device does not allow apps to use its device files, since it allows no privileged apps.";
    return { rule: "policy.devices", message };
  }
  for (const [index, { local }] of devices.entries()) {
    for (const path of [local, resolved[index] ?? local].map(normalizePath)) {
      const rule = brokenPathRule(path, rules, []);
      if (rule) return { rule: `policy.devices.${rule}`, message: `This device does not allow apps to use ${path}.` };
    }
  }
  return undefined;
}

function registryViolation(spec: AppSpec, policy: Policy): PolicyViolation | undefined {
  const { allow } = policy.registries;
  const registry = parseImageReference(spec.image)?.registry ?? "";
  if (allow.length === 0 || allow.includes(registry)) return undefined;
  return {
    rule: "policy.registries.allow",
    message: `This device does not allow images from the registry ${registry}.`,
  };
}

function mountViolation(
  spec: AppSpec,
  policy: Policy,
  resolved: readonly string[],
  guarded: readonly string[],
): PolicyViolation | undefined {
  for (const [index, volume] of spec.volumes.entries()) {
    // Both the path as written and where it really leads must be allowed: a symbolic link gets round neither.
    for (const path of [volume.local, resolved[index] ?? volume.local].map(normalizePath)) {
      const rule = brokenPathRule(path, policy.mounts, guarded);
      if (rule) return { rule: `policy.mounts.${rule}`, message: `This device does not allow mounting ${path}.` };
    }
  }
  return undefined;
}

function brokenPathRule(
  path: string,
  { allow, deny }: Policy["mounts"],
  guarded: readonly string[],
): "allow" | "deny" | undefined {
  const isAllowed = (prefix: string): boolean =>
    allow.some((entry) => isWithin(entry, prefix) && isWithin(path, entry));
  const denied = [...deny, ...guarded.filter((prefix) => !isAllowed(prefix))];
  if (denied.some((prefix) => isWithin(path, prefix) || isWithin(prefix, path))) return "deny";
  return allow.length === 0 || allow.some((prefix) => isWithin(path, prefix)) ? undefined : "allow";
}

/** Whether `path` is `prefix` or lies below it. */
function isWithin(path: string, prefix: string): boolean {
  const base = normalizePath(prefix);
  return base === "/" || path === base || path.startsWith(`${base}/`);
}
