import type { z } from "zod";
import type { ContainerOptions } from "./container-options.ts";
import { UNLIMITED_SWAP } from "./container-rights.ts";
import { normalizePath } from "../values/normalize-path.ts";
import type { RequestIssue } from "../errors/request-error.ts";

interface CheckedSpec extends Pick<ContainerOptions, "tmpfs" | "sysctls"> {
  readonly host_network: boolean;
  readonly volumes: readonly { readonly target: string }[];
}

/** Adds an issue for each option that contradicts another field of the app. */
export function checkOptionRules(spec: CheckedSpec, context: z.RefinementCtx): void {
  checkTmpfs(spec, context);
  checkSysctls(spec, context);
}

function checkTmpfs({ tmpfs = [], volumes }: CheckedSpec, context: z.RefinementCtx): void {
  for (const [index, { target }] of tmpfs.entries()) {
    const path = normalizePath(target);
    if (!volumes.some((volume) => normalizePath(volume.target) === path)) continue;
    const message = `is where a volume is mounted: ${path}`;
    context.addIssue({ code: "custom", path: ["tmpfs", index, "target"], message });
  }
}

/** Engines refuse these when the container starts: on the host's network they would change the device. */
function checkSysctls({ sysctls = {}, host_network }: CheckedSpec, context: z.RefinementCtx): void {
  if (!host_network) return;
  for (const key of Object.keys(sysctls).filter((name) => name.startsWith("net."))) {
    const message = "is a parameter of the device's network, as the app has `host_network`";
    context.addIssue({ code: "custom", path: ["sysctls", key], message });
  }
}

interface ContradictingFields extends ContainerOptions {
  readonly healthcheck?: object;
  readonly memory_limit?: number;
  readonly restart_policy?: string;
}

/** Returns what contradicts itself in the options of a new app's container. */
export function optionIssues(fields: ContradictingFields): RequestIssue[] {
  const { ipc, shm_size, sysctls = {}, healthcheck, no_healthcheck } = fields;
  // Podman refuses both, Docker ignores the size.
  const reason = "cannot be combined with ipc `host`, which is the device's shared memory";
  const ofOwnMemory = ipc === undefined ? [] : Object.keys(sysctls).filter((key) => !key.startsWith("net."));
  return [
    ...(ipc === undefined || shm_size === undefined ? [] : [{ path: "shm_size", reason }]),
    ...ofOwnMemory.map((key) => ({ path: `sysctls.${key}`, reason })),
    ...(healthcheck && no_healthcheck === true
      ? [{ path: "no_healthcheck", reason: "cannot be combined with healthcheck" }]
      : []),
    ...(fields.max_restarts !== undefined && fields.restart_policy !== "on-failure"
      ? [{ path: "max_restarts", reason: "needs the restart_policy `on-failure`: engines count failures only" }]
      : []),
    ...swapIssues(fields),
  ];
}

/** Engines refuse both when the container is created. */
function swapIssues({ memory_limit, memory_swap_limit: swap }: ContradictingFields): RequestIssue[] {
  const path = "memory_swap_limit";
  if (swap === undefined) return [];
  if (memory_limit === undefined)
    return [{ path, reason: "needs `memory_limit`: swap is limited together with memory only" }];
  if (swap === UNLIMITED_SWAP || swap >= memory_limit) return [];
  return [{ path, reason: "must not be below `memory_limit`, which it includes" }];
}
