import { AGENT_UPDATE_ERRORS } from "./agent-update-errors.ts";
import { ALERT_ERRORS } from "./alert-errors.ts";
import { ENROLMENT_ERRORS } from "./enrolment-errors.ts";
import { FLEET_ERRORS } from "./fleet-errors.ts";
import { REPEATED_CHANGE_ERRORS } from "./repeated-change-errors.ts";
import { SIM_ERRORS } from "./sim-errors.ts";
import { MAX_HOST_PORT, MIN_HOST_PORT } from "../limits.ts";
import { PEOPLE_ERRORS } from "./people-errors.ts";
import { REMOTE_ACCESS_ERRORS } from "./remote-access-errors.ts";

interface ErrorText {
  /** Default text. Callers may replace it with a more precise one unless `fixedMessage` is set. */
  readonly message: string;
  /** The specification gives this text to the letter: nothing is added, particulars go to `details`. */
  readonly fixedMessage?: true;
  /** The same request may succeed later without a change. */
  readonly retryable: boolean;
  /** What the user can do about it. */
  readonly hint: string;
}

/** A code that a response can consist of. */
interface ResponseError {
  /** HTTP status of a response that consists of this error. */
  readonly http: number;
  readonly endsDeployment?: never;
}

/** A code that a device fails an accepted deployment with. It is part of an event stream, whose HTTP status is 200. */
interface DeploymentError {
  readonly endsDeployment: true;
  /** HTTP status where the code refuses a request that starts no deployment. Absent where it never does. */
  readonly http?: number;
}

/** One row of the error table. */
export type ErrorEntry = ErrorText & (ResponseError | DeploymentError);

/** Every error code of the system. Event streams, JSON error bodies, logs and the documentation all use this table. */
export const ERRORS = {
  ErrorNodePortIsNotCorrectRange: {
    message: `Port is not in the correct range. The range of valid ports is ${MIN_HOST_PORT}-${MAX_HOST_PORT}.`,
    endsDeployment: true,
    fixedMessage: true,
    retryable: false,
    hint: "Choose a host_port from 30000 to 32767; details name the one that is not.",
  },
  ErrorPortInUse: {
    message: "The desired port is already in use.",
    endsDeployment: true,
    fixedMessage: true,
    retryable: false,
    hint: "Choose another host_port or free this one; details name the port and what holds it.",
  },
  DeviceNotReachable: {
    message: "Device not reachable",
    endsDeployment: true,
    http: 503,
    fixedMessage: true,
    retryable: true,
    hint: "Check the device's power and link; on the device `edge-agent doctor` says what is broken.",
  },
  AssetNotFound: {
    message: "Asset not found",
    http: 404,
    fixedMessage: true,
    retryable: false,
    hint: "Check the identifier and that the API key belongs to the account that owns the asset.",
  },
  ErrorNoName: {
    message: "The app has no name: the field `name` is missing or empty.",
    http: 422,
    retryable: false,
    hint: "Send a name of 1 to 63 letters, digits, '_', '.' or '-'.",
  },
  ErrorNoImage: {
    message: "The app has no image: the field `image` is missing or empty.",
    http: 422,
    retryable: false,
    hint: "Send a container image reference such as registry.example.com/team/app:1.2.",
  },
  InvalidRequest: {
    message: "The request is not valid.",
    http: 422,
    retryable: false,
    hint: "details.issues lists the path and the reason for each field.",
  },
  AppExists: {
    message: "An app of this name already exists on the device.",
    endsDeployment: true,
    retryable: false,
    hint: "Update the app, remove it first, or deploy under another name.",
  },
  AppNotFound: {
    message: "There is no app of this name on the device.",
    http: 404,
    retryable: false,
    hint: "List the device's apps to see their names.",
  },
  PlanChanged: {
    message: "The device would make other changes by now than the ones that were expected.",
    endsDeployment: true,
    retryable: false,
    hint: "Nothing was changed. Look at the changes again with a dry run, then repeat the request with its plan_hash.",
  },
  ErrorNameExists: {
    message: "A container of this name exists on the device and is not managed by edge-agent.",
    endsDeployment: true,
    retryable: false,
    hint: "details or the message name what has the name. Deploy under another name, or remove that on the device.",
  },
  VolumeInUse: {
    message: "The volume is in use.",
    endsDeployment: true,
    http: 409,
    retryable: false,
    hint: "Only one app may write to a volume, and one that an app has is not removed; details name the app.",
  },
  VolumeNotFound: {
    message: "There is no volume of this name on the device.",
    http: 404,
    retryable: false,
    hint: "List the device's volumes to see their names.",
  },
  ErrorDeploymentAlreadyExist: {
    message: "A deployment of this app is already running.",
    endsDeployment: true,
    retryable: true,
    hint: "Wait for the running deployment to end; details name it.",
  },
  ImagePullBackOff: {
    message: "The image could not be pulled.",
    endsDeployment: true,
    retryable: true,
    hint: "The message says whether the image is unknown, denied, for another platform, or the registry unreachable or not trusted; details.next says what to do.",
  },
  CrashLoopBackOff: {
    message: "The app stopped or restarted while it was being verified.",
    endsDeployment: true,
    retryable: false,
    hint:
      "details hold the exit code and the app's last log lines. An app that may end by itself needs restart_policy no or " +
      "on-failure.",
  },
  Unhealthy: {
    message: "The app's health check did not become healthy in time.",
    endsDeployment: true,
    retryable: false,
    hint:
      "details hold the last output of the health check, the app's last log lines, and the setting that limited the wait. " +
      "An app that needs longer sets start_period_s of its health check, or health_timeout_s.",
  },
  InsufficientDisk: {
    message: "There is not enough free disk space on the device.",
    endsDeployment: true,
    retryable: true,
    hint: "Free space on the device; details say how much there is and how much is needed.",
  },
  StateNotWritable: {
    message: "The device cannot store what it is asked to do.",
    endsDeployment: true,
    retryable: true,
    hint:
      "The device's disk is read-only or fails, usually an SD card at its end; the message says which. The apps run on. On the " +
      "device `edge-agent doctor` says what to try; replace the disk.",
  },
  NetworkUnavailable: {
    message: "The device cannot provide the app's network.",
    endsDeployment: true,
    retryable: true,
    hint:
      "Where the engine has no range of addresses left, or those it takes are in use in the device's own network, set " +
      "networks.subnets in the agent's configuration.",
  },
  DataBudgetExceeded: {
    message: "The download is larger than allowed.",
    endsDeployment: true,
    retryable: false,
    hint: "details hold the bytes to download and the limit; raise max_download_bytes, or the device's own limit.",
  },
  PolicyDenied: {
    message: "The device's own policy refuses this app.",
    endsDeployment: true,
    retryable: false,
    hint: "details name the rule; it is set in the device's configuration under `policy`.",
  },
  EngineUnavailable: {
    message: "The container engine on the device does not answer.",
    endsDeployment: true,
    http: 503,
    retryable: true,
    hint: "On the device, check the engine (`systemctl status docker`) and the agent's right to use its socket.",
  },
  EngineRestartNeeded: {
    message: "The container engine on the device can start no app before it is restarted.",
    endsDeployment: true,
    retryable: true,
    hint:
      "On the device: `sudo systemctl restart docker`, which restarts the apps too. A reload of the device's firewall has removed the " +
      "engine's rules, or its bridge was deleted; have what reloads the firewall restart the engine as well.",
  },
  AgentCrashed: {
    message: "The agent crashed again and again during the deployment.",
    endsDeployment: true,
    retryable: false,
    hint:
      "What was deployed brings the agent or the device down: the agent's log says in which step, and `journalctl -u edge-agent` " +
      "how it ended. Deploy another image; if it comes back, send a support bundle.",
  },
  RegistryAuthLost: {
    message: "The service was restarted before the device had the registry credentials; they are never stored.",
    endsDeployment: true,
    retryable: true,
    hint: "Send the request again, with its registry_auth.",
  },
  DeviceFailed: {
    message: "The device could not answer the request.",
    http: 502,
    retryable: true,
    hint: "The message says why; the agent's log on the device has more.",
  },
  DeviceCloned: {
    message: "Another device is connected with this device's token.",
    http: 409,
    retryable: true,
    hint: "Two devices were made from one disk image. Enrol this one with a code of its own; `clone` of the asset names both.",
  },
  DeviceTooOld: {
    message: "The agent on the device is too old for this request.",
    http: 409,
    retryable: false,
    hint: "Update edge-agent on the device.",
  },
  FilesNotPlaced: {
    message: "The files of the app cannot be placed on the device.",
    endsDeployment: true,
    retryable: false,
    hint: "The message says why: send the app again with its files, or see `edge-agent doctor` on the device.",
  },
  DeploymentTimeout: {
    message: "The deployment did not end in time; the device was told to cancel it.",
    endsDeployment: true,
    retryable: true,
    hint:
      "The last event before it says what the deployment was waiting for: the device's link, the image, the data budget, the " +
      "container engine (`edge-agent doctor` on the device) or the app's health check.",
  },
  DeploymentCancelled: {
    message: "The deployment was cancelled.",
    endsDeployment: true,
    retryable: false,
    hint: "It was cancelled on request; repeat the request if that was not intended.",
  },
  Internal: {
    message: "Something went wrong inside the service.",
    http: 500,
    retryable: true,
    hint: "The log of the service, or of the agent on the device, has the cause.",
  },
  InvalidJson: {
    message: "The request body is not valid JSON.",
    http: 400,
    retryable: false,
    hint: "Send one JSON object, encoded as UTF-8.",
  },
  BadRequest: {
    message: "The request could not be understood.",
    http: 400,
    retryable: false,
    hint: "The message says what is wrong with it.",
  },
  PayloadTooLarge: {
    message: "The request body is too large.",
    http: 413,
    retryable: false,
    hint: "A request may have 256 KiB; one that deploys or updates an app 640 KiB, for its files; one that applies several apps 768 KiB.",
  },
  UnsupportedMediaType: {
    message: "The request body must be JSON (Content-Type: application/json).",
    http: 415,
    retryable: false,
    hint: "Send the header Content-Type: application/json.",
  },
  ...AGENT_UPDATE_ERRORS,
  ...REMOTE_ACCESS_ERRORS,
  ...PEOPLE_ERRORS,
  ...FLEET_ERRORS,
  ...ALERT_ERRORS,
  Unauthorized: {
    message: "The API key is missing, wrong, revoked or has expired.",
    http: 401,
    retryable: false,
    hint: "Send a valid key in the header X-API-Key, or sign in again.",
  },
  CrossSiteRequest: {
    message: "The request was not sent by a page of this service.",
    http: 403,
    retryable: false,
    hint: "Browsers say which page sends a request. Open the console at the service's own address: the configuration key public_url.",
  },
  NotFound: {
    message: "There is nothing at this address.",
    http: 404,
    retryable: false,
    hint: "See /openapi.json for the list of endpoints.",
  },
  MethodNotAllowed: {
    message: "This address does not support the method.",
    http: 405,
    retryable: false,
    hint: "The Allow header lists the supported methods.",
  },
  TooManyRequests: {
    message: "Too many requests.",
    http: 429,
    retryable: true,
    hint: "Wait as long as the Retry-After header says.",
  },
  ServiceUnavailable: {
    message: "The service cannot answer right now.",
    http: 503,
    retryable: true,
    hint: "Try again shortly.",
  },
  DeploymentNotFound: {
    message: "This asset has no such deployment.",
    http: 404,
    retryable: false,
    hint: "List the asset's deployments to find its id.",
  },
  IdentifierTaken: {
    message: "An identifier of this asset cannot be used.",
    http: 409,
    retryable: false,
    hint: "details name the field. GET /v1/assets/{identifier} shows whether an asset of yours has it; if none has, and the device or SIM is yours, contact the operator of the service.",
  },
  QuotaExceeded: {
    message: "The account has used up what it may have.",
    http: 429,
    retryable: false,
    hint: "details name the quota, what is used and the limit. Old deployments are removed after the retention period, assets with DELETE. The operator of the service can raise the limit.",
  },
  ...ENROLMENT_ERRORS,
  ...SIM_ERRORS,
  ...REPEATED_CHANGE_ERRORS,
  EndpointRemoved: {
    message: "This endpoint was removed.",
    http: 410,
    retryable: false,
    hint: "The message names the replacement.",
  },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

/** The codes with an HTTP status of their own. */
export type ResponseErrorCode = {
  [Code in ErrorCode]: (typeof ERRORS)[Code] extends { readonly http: number } ? Code : never;
}[ErrorCode];

/** Further facts of an error, JSON-safe. Never holds secrets: see `lib/redact.ts`. */
export type ErrorDetails = Readonly<Record<string, unknown>>;

/** The table's row for a code, with every optional field visible to the type checker. */
export function errorEntry(code: ErrorCode): ErrorEntry {
  return ERRORS[code];
}

/** Narrows a string from the wire to a code of the table. */
export function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(ERRORS, code);
}

/** An error with a code of the table: the only kind that crosses a process boundary. */
export class EdgeError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails | undefined;

  /** @param message replaces the table's text; ignored for codes whose text the specification fixes. */
  constructor(code: ErrorCode, message?: string, details?: ErrorDetails, options?: ErrorOptions) {
    const entry = errorEntry(code);
    super(entry.fixedMessage ? entry.message : (message ?? entry.message), options);
    this.name = "EdgeError";
    this.code = code;
    this.details = details;
  }
}
