import { formatDuration } from "../lib/terminal/time.ts";
import { errorEntry, isErrorCode } from "../protocol/errors/errors.ts";

/** Hints for codes whose hint in the error table is meant for HTTP clients. */
const SHELL_HINTS: Readonly<Record<string, string>> = {
  Unauthorized: "Log in with `edgectl login`, or set EDGECTL_API_KEY.",
  AssetNotFound: "`edgectl assets list` shows the assets of your account.",
  SimNotFound: "`edgectl assets show ASSET` shows which SIMs an asset has.",
  DeploymentNotFound: "`edgectl deployments list ASSET` shows the deployments of an asset.",
  NotFound: "Check the server's address (--url): it may be another service, or an older version of this one.",
  ErrorPortInUse: "Choose another host port with --port, or in the file, or free this one.",
  ErrorNodePortIsNotCorrectRange: "Choose a host port from 30000 to 32767.",
  InvalidRequest: "Correct the fields named above and try again.",
  TooManyRequests: "Wait a little and try again.",
  CrashLoopBackOff: "See the app's last log lines above.",
  Unhealthy:
    "See the last output of its health check and its log lines above. If it needs longer to start: --health-start-period, " +
    "or --healthy-within.",
  InsufficientDisk: "Free space on the device, then try again.",
  StateNotWritable: "Its disk is read-only or fails: on the device `edge-agent doctor` says what to try.",
  PolicyDenied: "The device's own configuration decides this, under `policy`: see the message above.",
  ErrorDeploymentAlreadyExist: "Wait for it to end: `edgectl deployments list ASSET` shows it.",
  FleetNotFound: "`edgectl fleets list` shows the fleets of your account.",
  AlertNotFound: "`edgectl alerts list` shows the alerts of your account.",
  SilenceNotFound: "`edgectl alerts silences` shows those that have not ended.",
  AlertChannelNotFound: "`edgectl alerts settings get` shows the channels of your account.",
  RevisionNotFound: "`edgectl fleets revisions FLEET` shows the revisions of a fleet.",
  PlanNotFound: "Make another plan with `edgectl rollouts create FLEET --dry-run`.",
  RolloutNotFound: "`edgectl rollouts list FLEET` shows the rollouts of a fleet.",
  RolloutStateConflict: "`edgectl rollouts show FLEET` shows its state; one that is over stays as it is.",
  AppNotFound: "`edgectl apps list ASSET` shows the apps of a device.",
  PreconditionFailed: "Run the command again: it reads how that is now.",
  PlanChanged: "Run the command again: it shows the changes as they are now.",
  VolumeInUse:
    "Only one app may write to a volume, and one that an app has is not removed: mount it read-only (:ro) in the others, " +
    "or remove the app that has it, with `edgectl apply --prune` if it is no longer in the file.",
  VolumeNotFound: "`edgectl volumes list ASSET` shows the volumes of a device.",
  AppExists:
    "Change it with `edgectl apply -f FILE`, where --adopt takes over one that belongs to no project, or with `edgectl apps update`, or " +
    "remove it with `edgectl apps remove`.",
  DataBudgetExceeded: "See the cost above; allow more with --max-download, or in the device's own configuration.",
  AgentReleaseNotFound:
    "`edgectl agent-releases list` shows those that it has. Where the service runs, `edge-control agent-release add` adds one.",
  AgentReleaseSetAside: "Look at why it was set aside; --again tries it once more.",
  AgentVersionRefused:
    "An older version needs --downgrade, and agent_updates.downgrade in the device's configuration. Versions that cannot follow " +
    "each other need one in between.",
  AgentUpdateInProgress: "Wait for it to end: `edgectl deployments list ASSET` shows it.",
  AgentUpdateFailed: "See the new version's last log lines above. To try the same one once more: --again.",
  AllowanceNotFound: "The operator says none. To set one:\n  edgectl sims allowance ASSET TYPE 1GB",
  GranularityNotAvailable: "Give --granularity day, month or all: the operator counts by day.",
  DeviceNotReachable: "Check the device's power and its link, then try again; --wait-for-device SECONDS waits for it.",
};

type Details = Readonly<Record<string, unknown>>;

/** Hints for `details.reason` of `SimOperatorFailed`. */
const OPERATOR_HINTS: Readonly<Record<string, string>> = {
  unavailable: "It may be down or slow: try again in a minute. What it said last stays: `edgectl sims show ASSET`.",
  throttled: "The service asks it nothing until then.",
  credentials: "`edge-control sim-operator check`, where the service runs, says what the operator answers to them.",
  malformed: "`edge-control sim-operator check`, where the service runs, says more. Try again later.",
};

/** An entry that the table has itself: names from a service may be those of an object's methods. */
function ownEntry(table: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

function operatorHint({ reason, not_changed: notChanged, retry_after_s: pauseS }: Details): string {
  const repeat = Array.isArray(notChanged)
    ? "See above what changed and what did not; repeat the update to finish it."
    : "";
  const pause = typeof pauseS === "number" ? `It asks for a pause of ${formatDuration(pauseS)}.` : "";
  const hint = typeof reason === "string" ? ownEntry(OPERATOR_HINTS, reason) : undefined;
  return [repeat, pause, hint ?? "The log of the service says why."].filter((text) => text !== "").join(" ");
}

/**
 * Returns the hint for an error code of the service; `undefined` for a code this version does not know.
 *
 * @param details of the error, if it has any
 */
export function hintFor(code: string | undefined, details: Details = {}): string | undefined {
  if (code === undefined) return undefined;
  if (code === "SimOperatorFailed") return operatorHint(details);
  const { previous_revision: previous } = details;
  if (code === "RolloutStateConflict" && typeof previous === "number")
    return `To bring the revision before back:\n  edgectl rollouts create FLEET --revision ${previous}`;
  return ownEntry(SHELL_HINTS, code) ?? (isErrorCode(code) ? errorEntry(code).hint : undefined);
}
