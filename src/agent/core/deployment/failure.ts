import type { DeploymentStep } from "../../../protocol/deployments/deployment-event.ts";
import { type ErrorCode, errorEntry } from "../../../protocol/errors/errors.ts";
import type { DownloadErrorKind, EngineErrorKind, RegistryErrorKind } from "../error-kind.ts";
import { pullHint } from "../image/pull-hint.ts";
import type { Failure } from "../records.ts";

interface PullOrEngineError {
  readonly kind: EngineErrorKind | RegistryErrorKind | DownloadErrorKind;
  readonly message: string;
  /** What to do about it, where more is known than the kind. */
  readonly hint?: string | undefined;
  /** What the engine said, where the message is the answer of the registry itself. */
  readonly engineError?: string | undefined;
}

const PULL_MESSAGES = {
  image_not_found: "The registry has no such image",
  image_denied: "The registry denies access to the image",
  wrong_platform: "The image is not built for this device",
  registry_unreachable: "The registry could not be reached",
  rate_limited: "The registry asks for fewer requests",
  foreign_answer: "Something answers in place of the registry",
  registry_untrusted: "The connection to the registry cannot be trusted",
  refused_target: "The registry refers to a target that is not allowed",
  wrong_content: "The registry sent wrong content",
  no_progress: "The download was given up",
  unsupported: "The registry's answer cannot be used",
} as const satisfies Partial<Record<PullOrEngineError["kind"], string>>;

/** Returns the failure of a deployment that an error of the engine, a registry or a download causes. */
export function failureOf(error: PullOrEngineError, step: DeploymentStep, image: string): Failure {
  const { kind, message, hint, engineError } = error;
  const failure = (code: ErrorCode, text: string, details?: Failure["details"]): Failure => ({
    code,
    message: text,
    step,
    ...(details && { details }),
  });
  switch (kind) {
    case "unavailable":
    case "timeout":
      return failure("EngineUnavailable", `The container engine does not answer: ${message}`);
    case "image_not_found":
    case "image_denied":
    case "wrong_platform":
    case "registry_unreachable":
    case "rate_limited":
    case "foreign_answer":
    case "registry_untrusted":
    case "refused_target":
    case "wrong_content":
    case "no_progress":
    case "unsupported":
      return failure("ImagePullBackOff", `${PULL_MESSAGES[kind]}: ${message}`, {
        reason: kind,
        image,
        ...(engineError !== undefined && { engine_error: engineError }),
        ...nextOf(hint ?? pullHint(kind)),
      });
    case "corrupt_layer":
      return failureOf({ ...error, kind: "registry_unreachable" }, step, image);
    case "no_space":
      return failure("InsufficientDisk", `The device ran out of disk space: ${message}`);
    case "port_in_use":
      return failure("ErrorPortInUse", errorEntry("ErrorPortInUse").message);
    case "conflict":
      return failure("ErrorNameExists", `The container engine already uses this name: ${message}`);
    case "network_missing":
    case "no_addresses":
      return failure("NetworkUnavailable", `The container engine cannot provide the app's network: ${message}`);
    case "rules_lost":
    case "bridge_lost":
      return failure("EngineRestartNeeded", restartText(kind), { reason: kind, engine_error: message });
    case "mount_missing":
      return failure("InvalidRequest", `A path that the app mounts does not exist on the device: ${message}`);
    case "invalid":
      return failure("InvalidRequest", `The container engine refuses the app: ${message}`);
    case "not_removable":
      return failure("Internal", `The container engine cannot remove a container: ${message}`);
    case "between_runs":
    case "not_found":
    case "unknown":
      return failure("Internal", `The container engine failed: ${message}`);
    case "disk_failed":
      return failure("Internal", `The download cannot be stored: ${message}`);
  }
}

/** Describes for people an engine that has lost something of the device, and what mends it. */
export function restartText(kind: "rules_lost" | "bridge_lost"): string {
  const what =
    kind === "rules_lost"
      ? "The container engine has lost its firewall rules, as after a reload of the device's firewall, and can start no app with ports."
      : "The bridge of the container engine's network is gone, and it can start no app there.";
  return `${what} On the device: sudo systemctl restart docker.`;
}

function nextOf(hint: string | undefined): NonNullable<Failure["details"]> {
  return hint === undefined ? {} : { next: hint };
}
