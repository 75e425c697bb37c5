import type { AppSpec } from "../../../protocol/apps/app-spec.ts";
import { parseImageReference } from "../../../protocol/apps/image-reference.ts";
import type { Policy, PolicyViolation } from "./device-policy.ts";
import { findDeviceViolation, preferResolved, findMountViolation, type PolicyCheckPhase } from "./mount-rules.ts";
import { findOptionViolation } from "./option-rules.ts";
import type { PathPolicyInput } from "./path-policy-input.ts";

export type { Policy, PolicyViolation } from "./device-policy.ts";

/**
 * Returns the first rule the request violates.
 *
 * @param phase registries are only judged in phase `request`: an image on the device may run wherever it came from
 */
export function findPolicyViolation(
  spec: AppSpec,
  policy: Policy,
  input: PathPolicyInput,
  phase: PolicyCheckPhase,
): PolicyViolation | undefined {
  if (spec.privileged && !policy.privileged) {
    return { rule: "policy.privileged", message: "This device does not allow privileged apps." };
  }
  if (spec.host_network && !policy.host_network) {
    return { rule: "policy.host_network", message: "This device does not allow apps on the host's network." };
  }
  const denied = findOptionViolation(spec, policy);
  if (denied) return denied;
  return preferResolved([
    phase === "request" ? findRegistryViolation(spec, policy) : undefined,
    findMountViolation(policy, input, phase),
    findDeviceViolation(spec, policy, input),
  ]);
}

function findRegistryViolation(spec: AppSpec, policy: Policy): PolicyViolation | undefined {
  const { allow } = policy.registries;
  if (allow.length === 0) return undefined;
  const reference = parseImageReference(spec.image);
  // The specification was validated when it was accepted.
  if (!reference) throw new Error(`not an image reference: ${spec.image}`);
  const { registry } = reference;
  if (allow.includes(registry)) return undefined;
  return {
    rule: "policy.registries.allow",
    message: `This device does not allow images from the registry ${registry}.`,
  };
}
