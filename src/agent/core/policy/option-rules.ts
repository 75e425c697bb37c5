import type { AppSpec } from "../../../protocol/apps/app-spec.ts";
import { ALL_CAPABILITIES, canonicalCapability, USUAL_CAPABILITIES } from "../../../protocol/apps/capabilities.ts";
import { canonicalOptions } from "../../../protocol/apps/canonical-options.ts";
import { externalVolumesOf } from "../../../protocol/apps/volume-fields.ts";
import type { ULIMITS } from "../../../protocol/apps/container-options.ts";
import { canonicalDeviceRule, NO_NEW_PRIVILEGES } from "../../../protocol/apps/container-rights.ts";
import type { Policy, PolicyViolation } from "./device-policy.ts";

/** Limits that apps may set unless the policy says otherwise: all but those that give an app precedence over others. */
const USUAL_ULIMITS: readonly (typeof ULIMITS)[number][] = [
  "as",
  "core",
  "cpu",
  "data",
  "fsize",
  "locks",
  "msgqueue",
  "nofile",
  "nproc",
  "rss",
  "sigpending",
  "stack",
];

/** Default for the most bytes an app's log may keep. */
export const MAX_LOG_BYTES = 104_857_600;

/** Returns the first rule of the policy that an option of the app's container violates. */
export function findOptionViolation(spec: AppSpec, policy: Policy): PolicyViolation | undefined {
  return (
    findCapabilityViolation(spec, policy) ??
    findUlimitViolation(spec, policy) ??
    findSysctlViolation(spec, policy) ??
    findLogViolation(spec, policy) ??
    findGpuViolation(spec, policy) ??
    findSecurityViolation(spec, policy) ??
    findNamespaceViolation(spec, policy) ??
    findDeviceRuleViolation(spec, policy) ??
    findExternalVolumeViolation(spec, policy) ??
    findExternalNetworkViolation(spec, policy)
  );
}

function findCapabilityViolation(spec: AppSpec, { capabilities }: Policy): PolicyViolation | undefined {
  const allowed = new Set((capabilities?.allow ?? []).map(canonicalCapability));
  const isAllowed = (name: string): boolean =>
    allowed.has(ALL_CAPABILITIES) || allowed.has(name) || USUAL_CAPABILITIES.includes(name);
  const denied = canonicalOptions(spec).cap_add?.find((name) => !isAllowed(name));
  if (denied === undefined) return undefined;
  const what = denied === ALL_CAPABILITIES ? "every capability" : `the capability ${denied}`;
  return {
    rule: "policy.capabilities.allow",
    message:
      `This device does not allow apps ${what}. To allow it, list ${denied} in \`policy.capabilities.allow\` of the ` +
      "device's configuration; `policy.privileged` does not include it.",
  };
}

function findUlimitViolation({ ulimits = [] }: AppSpec, policy: Policy): PolicyViolation | undefined {
  const allowed: readonly string[] = policy.ulimits?.allow ?? USUAL_ULIMITS;
  const denied = ulimits.find(({ name }) => !allowed.includes(name));
  return denied && notAllowed("policy.ulimits.allow", `apps to set the limit ${denied.name}`, denied.name);
}

function findSysctlViolation({ sysctls = {} }: AppSpec, policy: Policy): PolicyViolation | undefined {
  const allowed = policy.sysctls?.allow;
  if (!allowed) return undefined;
  const denied = Object.keys(sysctls).find((name) => !allowed.some((prefix) => name.startsWith(prefix)));
  return denied === undefined
    ? undefined
    : notAllowed("policy.sysctls.allow", `apps to set the kernel parameter ${denied}`, denied);
}

function notAllowed(rule: string, what: string, entry: string, instead?: string): PolicyViolation {
  const message = `This device does not allow ${what}. To allow it, list ${entry} in \`${rule}\` of the device's configuration.`;
  return { rule, message: instead === undefined ? message : `${message} ${instead}` };
}

function findLogViolation({ log }: AppSpec, { max_log_bytes = MAX_LOG_BYTES }: Policy): PolicyViolation | undefined {
  if (!log || log.max_bytes * log.max_files <= max_log_bytes) return undefined;
  return {
    rule: "policy.max_log_bytes",
    message:
      `This device keeps at most ${max_log_bytes} bytes of an app's log; \`log\` asks for ${log.max_files} ` +
      `${log.max_files === 1 ? "file" : "files"} of ${log.max_bytes}.`,
  };
}

function findSecurityViolation({ security_opt = [] }: AppSpec, policy: Policy): PolicyViolation | undefined {
  const allowed = policy.security_opt?.allow ?? [];
  const denied = security_opt.find((option) => option !== NO_NEW_PRIVILEGES && !allowed.includes(option));
  return denied === undefined
    ? undefined
    : notAllowed("policy.security_opt.allow", `apps to have the security option ${denied}`, denied);
}

function findNamespaceViolation({ pid, ipc }: AppSpec, policy: Policy): PolicyViolation | undefined {
  if (pid && !policy.host_pid) return notShared("policy.host_pid", "to see the processes");
  if (ipc && !policy.host_ipc) return notShared("policy.host_ipc", "to have the shared memory");
  return undefined;
}

/** Rules name device files by number: where the policy lists paths, it has to list the rules too. */
function findDeviceRuleViolation(spec: AppSpec, policy: Policy): PolicyViolation | undefined {
  const { device_cgroup_rules: rules = [] } = canonicalOptions(spec);
  const listed = policy.device_cgroup_rules?.allow;
  if (!listed && policy.privileged && policy.devices === undefined) return undefined;
  const allowed = new Set(listed?.map(canonicalDeviceRule));
  const denied = rules.find((rule) => !allowed.has(rule));
  return denied === undefined
    ? undefined
    : notAllowed("policy.device_cgroup_rules.allow", `apps to use device files by the rule ${denied}`, denied);
}

function findExternalVolumeViolation(spec: AppSpec, { external_volumes: rule }: Policy): PolicyViolation | undefined {
  const denied = externalVolumesOf(spec).find(({ external }) => !isEngineName(external, rule?.allow ?? []));
  return (
    denied &&
    notAllowed("policy.external_volumes.allow", `apps to mount the engine's volume ${denied.external}`, denied.external)
  );
}

function findExternalNetworkViolation(spec: AppSpec, { external_networks: rule }: Policy): PolicyViolation | undefined {
  const denied = spec.external_networks?.find((name) => !isEngineName(name, rule?.allow ?? []));
  return denied === undefined
    ? undefined
    : notAllowed(
        "policy.external_networks.allow",
        `apps on the engine's network ${denied}`,
        denied,
        "Without `external_networks`, the agent makes a network of this name for all apps that name it.",
      );
}

/** @param allow names; one that ends with `*` stands for all that begin so */
function isEngineName(name: string, allow: readonly string[]): boolean {
  return allow.some((entry) => (entry.endsWith("*") ? name.startsWith(entry.slice(0, -1)) : name === entry));
}

function notShared(rule: string, what: string): PolicyViolation {
  const message =
    `This device does not allow apps ${what} of the device. To allow it, set \`${rule}\` in the device's configuration; ` +
    "`policy.privileged` does not include it.";
  return { rule, message };
}

/** GPUs are device files: where the policy lists those, it has to allow GPUs too. */
function findGpuViolation({ gpus }: AppSpec, policy: Policy): PolicyViolation | undefined {
  const isAllowed = policy.gpus ?? (policy.privileged && policy.devices === undefined);
  if (gpus === undefined || isAllowed) return undefined;
  return { rule: "policy.gpus", message: "This device does not allow apps to use its GPUs." };
}
