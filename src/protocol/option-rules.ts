import type { z } from "zod";
import type { ContainerOptions } from "./container-options.ts";
import { normalizePath } from "./normalize-path.ts";

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
    const around = volumes.find((volume) => {
      const mounted = normalizePath(volume.target);
      return path === mounted || path.startsWith(`${mounted}/`);
    });
    if (!around) continue;
    const message = `is in the volume at ${normalizePath(around.target)}`;
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
