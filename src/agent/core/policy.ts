import type { AppSpec } from "../../protocol/app-spec.ts";
import { parseImageReference } from "../../protocol/image-reference.ts";
import type { Policy, PolicyViolation } from "./device-policy.ts";
import { deviceViolation, mostCertain, mountViolation, type Occasion } from "./mount-rules.ts";
import type { PathFacts } from "./path-facts.ts";

export type { Policy, PolicyViolation } from "./device-policy.ts";

/**
 * The first rule the request breaks.
 *
 * @param occasion an image that is on the device may run wherever it came from: registries are judged at the request
 */
export function violation(
  spec: AppSpec,
  policy: Policy,
  facts: PathFacts,
  occasion: Occasion,
): PolicyViolation | undefined {
  if (spec.privileged && !policy.privileged) {
    return { rule: "policy.privileged", message: "This device does not allow privileged apps." };
  }
  if (spec.host_network && !policy.host_network) {
    return { rule: "policy.host_network", message: "This device does not allow apps on the host's network." };
  }
  return mostCertain([
    occasion === "request" ? registryViolation(spec, policy) : undefined,
    mountViolation(spec, policy, facts, occasion),
    deviceViolation(spec, policy, facts),
  ]);
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
