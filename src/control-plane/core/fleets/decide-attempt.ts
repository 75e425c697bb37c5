import type { ErrorCode } from "../../../protocol/errors/errors.ts";
import { become, type DeploymentFacts, type Situation, type TargetDecision } from "./target-decision.ts";
import { isRolloutOver } from "../../../protocol/fleets/rollout-over.ts";
import { needsAgent } from "./required-agent.ts";
import type { WaitReason } from "../../../protocol/fleets/rollout.ts";

/** A deployment under way is looked at again after this time, should the event of its end be lost. */
export const REVIEW_INTERVAL_MS = 300_000;

/** Codes that the service ends a deployment with by itself. They do not tell what the device does. */
const ENDED_BY_SERVICE: ReadonlySet<ErrorCode | undefined> = new Set<ErrorCode>([
  "DeviceNotReachable",
  "DeploymentTimeout",
]);

/** Decides about a target with an attempt whose outcome is not known yet: `deploying`, `lost`, or waiting for a budget. */
export function decideAttempt(situation: Situation): TargetDecision {
  const { target, facts, nowMs } = situation;
  if (target.deploymentId === undefined) return { kind: "request" };
  const { deployment } = facts;
  if (deployment === undefined) {
    return failAttempt(situation, { code: "Internal", message: "The deployment is not on record any more." });
  }
  if (deployment.status === "Success") {
    if (deployment.action === "update_agent") return goOnAfterAgent(situation);
    return become(
      target,
      { state: "soaking", awaySinceMs: undefined, code: undefined, message: undefined, dueMs: nowMs },
      nowMs,
    );
  }
  if (!facts.isConnected && isOutcomeOpen(deployment)) return decideAway(situation);
  if (deployment.status === "Fail") return failAttempt(situation, toFailure(deployment));
  return decideRunning(situation, deployment);
}

/** The agent is what the revision asks for. Its apps follow, as an attempt of their own; without apps the target soaks. */
function goOnAfterAgent({ target, facts, context, nowMs }: Situation): TargetDecision {
  const goal = context.goals[target.direction];
  const { agentVersion } = facts;
  if (agentVersion !== undefined && needsAgent(goal, agentVersion)) {
    const message = `The device has confirmed the new version of its agent, and runs ${agentVersion} all the same.`;
    return failAttempt({ target, context, nowMs }, { code: "AgentUpdateFailed", message });
  }
  const ended = { awaySinceMs: undefined, code: undefined, dueMs: nowMs } as const;
  if (goal.apps.length === 0) return become(target, { ...ended, state: "soaking", message: undefined }, nowMs);
  // What the agent took says nothing about the apps.
  const counts = { failedAttempts: 0, attemptsBefore: target.attempt, deploymentId: undefined } as const;
  const message = `Its agent is ${agentVersion ?? goal.agent?.version} now; its apps follow.`;
  return become(target, { ...ended, ...counts, state: "pending", message }, nowMs);
}

function toFailure({ code, message, acknowledgedAtMs }: DeploymentFacts): FailedAttempt {
  const isReached = code !== "DeviceNotReachable" || acknowledgedAtMs !== undefined;
  return { code: code ?? "Internal", message, isReached };
}

/** Whether the device may still have the deployment, although it ended for the service. */
function isOutcomeOpen({ status, code, acknowledgedAtMs }: DeploymentFacts): boolean {
  return status === "Running" || (acknowledgedAtMs !== undefined && ENDED_BY_SERVICE.has(code));
}

function decideRunning({ target, nowMs }: Situation, { putOffUntilMs, message }: DeploymentFacts): TargetDecision {
  const fields = { awaySinceMs: undefined, code: undefined, message } as const;
  if (putOffUntilMs !== undefined && putOffUntilMs > nowMs) {
    return become(target, { ...fields, state: "waiting", waitsFor: "budget", dueMs: putOffUntilMs }, nowMs);
  }
  return become(target, { ...fields, state: "deploying", dueMs: nextReviewMs(target.dueMs, nowMs) }, nowMs);
}

/** The device vanished. It is lost after `lost_after_s`; one that only waits for its budget may be away as any other. */
function decideAway({ target, facts, context, nowMs }: Situation): TargetDecision {
  const { state, waitsFor, begunAtMs = target.sinceMs } = target;
  if (state === "lost") return become(target, { awaySinceMs: target.awaySinceMs }, nowMs);
  const { lost_after_s: lostAfterS, offline_after_s: offlineAfterS } = context.rollout.strategy;
  const awaySinceMs = Math.max(facts.lastSeenAtMs ?? begunAtMs, begunAtMs);
  const afterS = waitsFor === "budget" ? Math.max(lostAfterS, offlineAfterS) : lostAfterS;
  const lostAtMs = awaySinceMs + afterS * 1000;
  if (lostAtMs > nowMs) return become(target, { state, waitsFor, awaySinceMs, dueMs: lostAtMs }, nowMs);
  const message = "The device vanished during the deployment.";
  return become(target, { state: "lost", awaySinceMs, code: "DeviceNotReachable", message }, nowMs);
}

/** Keeps a time that is set already, so that looking at the target does not change it. */
function nextReviewMs(dueMs: number | undefined, nowMs: number): number {
  const isSet = dueMs !== undefined && dueMs > nowMs && dueMs <= nowMs + REVIEW_INTERVAL_MS;
  return isSet ? dueMs : nowMs + REVIEW_INTERVAL_MS;
}

/** Number of attempts, since the asset was last to be served anew, that may fail without counting, such as because a device that seems connected is not reached. */
const MAX_UNCOUNTED_ATTEMPTS = 10;

/** How an attempt failed. */
interface FailedAttempt {
  readonly code: ErrorCode;
  readonly message: string | undefined;
  /** False: the device never had it, as far as is known. */
  readonly isReached?: boolean;
}

/**
 * Decides what a failed attempt means: another one after a pause, or the end of the target. Also for an attempt whose deployment
 * was refused when it was requested. An attempt that says nothing about the revision does not count, up to a bound: a rollout
 * must not wait for such a device for ever.
 */
export function failAttempt(situation: Omit<Situation, "facts">, failure: FailedAttempt): TargetDecision {
  const { target, context, nowMs } = situation;
  const { code, message, isReached = true } = failure;
  const told = { code, message, awaySinceMs: undefined, soakSinceMs: undefined, downSinceMs: undefined } as const;
  const { kind } = classifyFailure(code);
  if (kind === "refused") return become(target, { ...told, state: "refused" }, nowMs);

  const isCounted = kind === "failed" || kind === "harmful" || (kind === "waiting" && isReached);
  const uncounted = target.attempt - target.attemptsBefore - target.failedAttempts;
  const failedAttempts =
    isCounted || uncounted > MAX_UNCOUNTED_ATTEMPTS ? target.failedAttempts + 1 : target.failedAttempts;
  const isLast =
    kind === "harmful" || failedAttempts >= context.rollout.strategy.attempts || uncounted > MAX_UNCOUNTED_ATTEMPTS;
  if (isLast) {
    const tries = target.attempt - target.attemptsBefore;
    const given = isCounted || message === undefined ? message : `${message} It was tried ${tries} times.`;
    // A rollout that goes back has its failed targets turn back at once, and nothing else happens to this one.
    const mustTurn = context.rollout.state === "rolling_back" && target.direction === "forward";
    const fields = { ...told, message: given, state: "failed", failedAttempts } as const;
    return become(target, { ...fields, dueMs: mustTurn ? nowMs : undefined }, nowMs);
  }
  if (isRolloutOver(context.rollout)) {
    // Nothing begins any more.
    return become(target, { ...told, state: failedAttempts > 0 ? "failed" : "skipped", failedAttempts }, nowMs);
  }
  return become(target, { ...told, state: "pending", failedAttempts, deploymentId: undefined, dueMs: nowMs }, nowMs);
}

/** What the end of an attempt with an error means for its target. */
type FailureClass =
  /** Counts as an attempt. The target fails when it has no attempts left. */
  | { readonly kind: "failed" }
  /** Counts as a failure, and is not attempted again: it harms the device each time, or cannot work there. */
  | { readonly kind: "harmful" }
  /** The device, its owner or a person said no, or it is not there: ends the target, apart from failures. Not repeated. */
  | { readonly kind: "refused" }
  /** Says nothing about the revision or the device, and passes: repeated later without counting as an attempt. */
  | { readonly kind: "retry" }
  /** Repeated once what it waits for is there, without counting as an attempt. */
  | { readonly kind: "waiting"; readonly for: WaitReason };

const FAILED: FailureClass = { kind: "failed" };
const REFUSED: FailureClass = { kind: "refused" };
const RETRY: FailureClass = { kind: "retry" };

/**
 * Classes of all codes, in the order of the error table; the compiler finds a missing one. Codes of requests that a rollout does
 * not make are failures: should one come, something is wrong, and going on would hide it.
 */
const CLASSES: Readonly<Record<ErrorCode, FailureClass>> = {
  ErrorNodePortIsNotCorrectRange: FAILED,
  ErrorPortInUse: FAILED,
  DeviceNotReachable: { kind: "waiting", for: "connection" },
  // The asset was removed during the rollout.
  AssetNotFound: REFUSED,
  ErrorNoName: FAILED,
  ErrorNoImage: FAILED,
  InvalidRequest: FAILED,
  AppExists: FAILED,
  AppNotFound: FAILED,
  // The device changed between two looks at it.
  PlanChanged: RETRY,
  ErrorNameExists: FAILED,
  VolumeInUse: FAILED,
  VolumeNotFound: FAILED,
  // A deployment of another client is under way.
  ErrorDeploymentAlreadyExist: RETRY,
  ImagePullBackOff: FAILED,
  ImageNotResolved: FAILED,
  CrashLoopBackOff: FAILED,
  Unhealthy: FAILED,
  InsufficientDisk: REFUSED,
  StateNotWritable: REFUSED,
  NetworkUnavailable: FAILED,
  DataBudgetExceeded: REFUSED,
  PolicyDenied: REFUSED,
  // May last: without an end of the attempts, the rollout would wait for a broken device for ever.
  EngineUnavailable: FAILED,
  EngineRestartNeeded: FAILED,
  // It has brought the agent down as often as the device allows, with its images downloaded each time.
  AgentCrashed: { kind: "harmful" },
  // The service was restarted in the middle of it, and has the credentials again.
  RegistryAuthLost: RETRY,
  DeviceFailed: FAILED,
  DeviceTooOld: REFUSED,
  FilesNotPlaced: FAILED,
  DeploymentTimeout: FAILED,
  // A person did that on purpose, so it is not begun again.
  DeploymentCancelled: REFUSED,
  Internal: FAILED,
  InvalidJson: FAILED,
  BadRequest: FAILED,
  PayloadTooLarge: FAILED,
  UnsupportedMediaType: FAILED,
  AgentReleaseNotFound: FAILED,
  AgentUpdateUnsupported: REFUSED,
  AgentUpdateKeysMissing: REFUSED,
  AgentReleaseUntrusted: FAILED,
  AgentReleaseInvalid: FAILED,
  AgentArchitectureMissing: REFUSED,
  AgentVersionRefused: REFUSED,
  AgentReleaseSetAside: REFUSED,
  AgentPinned: REFUSED,
  AgentUpdateInProgress: RETRY,
  // The device has set the release aside: it would refuse another attempt, which would not count as a failure.
  AgentUpdateFailed: { kind: "harmful" },
  Forbidden: FAILED,
  AppNotRunning: FAILED,
  AppPortClosed: FAILED,
  AppPathNotFound: FAILED,
  StreamIdle: FAILED,
  SignInFailed: FAILED,
  OidcFailed: FAILED,
  OidcNotAllowed: FAILED,
  WrongPassword: FAILED,
  WeakPassword: FAILED,
  SetupCodeUnknown: FAILED,
  SetupCodeExpired: FAILED,
  SetupDone: FAILED,
  LoginRequestUnknown: FAILED,
  LoginRequestExpired: FAILED,
  LoginRequestDenied: FAILED,
  LoginRequestDecided: FAILED,
  InvitationUnknown: FAILED,
  InvitationExpired: FAILED,
  InvitationUsed: FAILED,
  LastAdmin: FAILED,
  EmailTaken: FAILED,
  UserDisabled: FAILED,
  UserNotFound: FAILED,
  KeyNotFound: FAILED,
  FleetNotFound: FAILED,
  FleetExists: FAILED,
  RevisionNotFound: FAILED,
  PlanNotFound: FAILED,
  RolloutNotFound: FAILED,
  HoldNotFound: FAILED,
  RolloutStateConflict: FAILED,
  ApprovalBySameUser: FAILED,
  AlertNotFound: FAILED,
  AlertGroupNotFound: FAILED,
  SilenceNotFound: FAILED,
  AlertChannelNotFound: FAILED,
  Unauthorized: FAILED,
  CrossSiteRequest: FAILED,
  NotFound: FAILED,
  MethodNotAllowed: FAILED,
  // Limits of the account and of the service: the rollout slows down.
  TooManyRequests: RETRY,
  ServiceUnavailable: RETRY,
  QuotaExceeded: RETRY,
  DeploymentNotFound: FAILED,
  IdentifierTaken: FAILED,
  EnrolmentCodeUnknown: FAILED,
  EnrolmentCodeExpired: FAILED,
  EnrolmentCodeUsed: FAILED,
  DeviceInService: FAILED,
  DeviceCloned: FAILED,
  AssetHasNoSim: FAILED,
  UnknownNetworkGroup: FAILED,
  SimNotFound: FAILED,
  AllowanceNotFound: FAILED,
  SimUnknownToOperator: FAILED,
  GranularityNotAvailable: FAILED,
  SimOperatorFailed: FAILED,
  PreconditionFailed: FAILED,
  IdempotencyKeyReused: FAILED,
  IdempotencyInProgress: FAILED,
  IdempotencyResponseLost: FAILED,
  EndpointRemoved: FAILED,
};

/** Returns what the end of an attempt with this code means. */
export function classifyFailure(code: ErrorCode): FailureClass {
  return CLASSES[code];
}
