import type { ErrorCode } from "../../../protocol/errors.ts";
import type { WaitReason } from "../../../protocol/rollout.ts";

/** What the end of an attempt with an error means for its target. */
export type FailureClass =
  /** Counts as an attempt. The target fails when it has no attempts left. */
  | { readonly kind: "failed" }
  /** Counts as a failure, and is not attempted again: it harms the device each time. */
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
