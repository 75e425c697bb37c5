import type { DeploymentStep } from "../../protocol/deployments/deployment-event.ts";
import { type ErrorCode, errorEntry } from "../../protocol/errors/errors.ts";
import type { ReleaseErrorCode } from "../../lib/release/release-error.ts";
import type { Failure } from "../core/records.ts";

/** The code of the error table for each refusal of the updater, which another version may name otherwise. */
const CODES: Readonly<Record<ReleaseErrorCode, ErrorCode>> = {
  incomplete: "AgentReleaseInvalid",
  malformed: "AgentReleaseInvalid",
  unsigned: "AgentReleaseUntrusted",
  no_keys: "AgentUpdateKeysMissing",
  untrusted_key: "AgentReleaseUntrusted",
  digest_mismatch: "AgentReleaseUntrusted",
  wrong_architecture: "AgentArchitectureMissing",
  unsafe_content: "AgentReleaseInvalid",
  insufficient_disk: "InsufficientDisk",
  not_executable: "AgentUpdateFailed",
  installed: "AgentVersionRefused",
  on_trial: "AgentUpdateInProgress",
  set_aside: "AgentReleaseSetAside",
  pinned: "AgentPinned",
  not_newer: "AgentVersionRefused",
  downgrade_not_allowed: "AgentVersionRefused",
  below_floor: "AgentVersionRefused",
  too_far: "AgentVersionRefused",
  not_on_trial: "AgentUpdateFailed",
  failed: "AgentUpdateFailed",
};

/** Returns the failure of a deployment whose release is refused, by the agent itself or by the updater. */
export function toReleaseFailure(
  { code, message }: { readonly code: string; readonly message: string },
  step: DeploymentStep,
  details: Failure["details"] = {},
): Failure {
  const known = Object.hasOwn(CODES, code) ? CODES[code as ReleaseErrorCode] : "AgentUpdateFailed";
  const { message: table } = errorEntry(known);
  return { code: known, message: `${table} The device says: ${message}.`, step, details: { reason: code, ...details } };
}
