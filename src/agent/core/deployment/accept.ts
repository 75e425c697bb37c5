import { type AppSpec, type ParsedAppSpec, parseAppSpec, parseNewAppSpec } from "../../../protocol/apps/app-spec.ts";
import { networkOwner } from "../../../protocol/apps/app-network.ts";
import { type AppUpdate, parseAppUpdate } from "../../../protocol/apps/app-update.ts";
import type { DeployOptions } from "../../../protocol/apps/deploy-request.ts";
import type { AppAction } from "../../../protocol/deployments/deployment-action.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import { invalidRequest, type RequestIssue } from "../../../protocol/errors/request-error.ts";
import { MASKED_VALUE } from "../../../protocol/apps/secret-texts.ts";
import { takeNoFiles, type TakeFiles, toStoredSpec } from "../app/files.ts";
import { type AppRecord, type DeploymentRecord, type Failure, newRecord } from "../records.ts";

/** A requested change of an installed app. */
export interface ChangeRequest {
  readonly action: AppAction;
  /** The app's name. */
  readonly app: string;
  /** For an update: the fields to change. */
  readonly spec?: unknown;
  readonly options?: DeployOptions | undefined;
}

export interface AcceptContext {
  readonly id: string;
  readonly order: number;
  readonly origin: DeploymentRecord["origin"];
  /** The app's current record. */
  readonly installed: AppRecord | undefined;
  /** Names of the apps that have the network of this one, and keep it from being removed. */
  readonly followers?: readonly string[];
  /** The deployment that is working on the app. */
  readonly activeDeploymentId: string | undefined;
  /** Takes the files of an update. */
  readonly takeFiles?: TakeFiles;
}

/** Returns the specification of a new app, whose files `takeFiles` keeps, or why the request is refused. */
export function acceptNew(input: unknown, takeFiles: TakeFiles): AppSpec | EdgeError {
  const parsed = parseNewAppSpec(input);
  return parsed.ok ? toStoredSpec(parsed.spec, takeFiles) : parsed.error;
}

/**
 * Returns the record of an accepted change. All steps are planned from it, also after a crash: the patch is merged
 * here, and the app's current record is kept for the rollback. Never refuses: a change that cannot be made gets its
 * failure.
 */
export function accept(request: ChangeRequest, at: AcceptContext): DeploymentRecord {
  const { action, app } = request;
  const { id, order, origin, installed } = at;
  const record = { ...newRecord(id, order, undefined), action, app, origin, options: request.options ?? {} };
  if (at.activeDeploymentId !== undefined) {
    const message = `A deployment of ${app} is already running.`;
    return failing(record, "ErrorDeploymentAlreadyExist", message, { deployment_id: at.activeDeploymentId });
  }
  // Other actions download nothing, so they have no cost; and a dry run must not carry them out.
  if (request.options?.dry_run && action !== "update") {
    return failing(record, "InvalidRequest", "dry_run is for deployments and updates.");
  }
  if (!installed) return failing(record, "AppNotFound", `There is no app named ${app} on the device.`);
  const [follower] = action === "remove" ? (at.followers ?? []) : [];
  if (follower !== undefined) {
    const message = `The app ${follower} has the network of ${app}, and would have none. Remove that one first.`;
    return failing(record, "InvalidRequest", message, { app: follower });
  }
  const change = { ...record, previous: installed };
  if (action !== "update") return { ...change, spec: installed.spec, imageId: installed.imageId };
  const merged = mergeSpec(installed.spec, request.spec ?? {}, at.takeFiles);
  if (!merged.ok) return { ...change, failure: toRequestFailure(merged.error) };
  const imageId = asksForImage(request.spec) ? undefined : installed.imageId;
  return { ...change, spec: merged.spec, imageId };
}

/** Returns the names of the installed apps that have the network of an app. */
export function followersOf(app: string, apps: readonly AppRecord[]): string[] {
  return apps.filter(({ spec }) => networkOwner(spec) === app).map(({ name }) => name);
}

/** Converts the error of an invalid request to the failure of its deployment. */
export function toRequestFailure({ code, message, details }: EdgeError): Failure {
  return { code, message, step: "checking", ...(details && { details }) };
}

function failing(
  record: DeploymentRecord,
  code: Failure["code"],
  message: string,
  details?: Failure["details"],
): DeploymentRecord {
  return { ...record, failure: { code, message, step: "checking", ...(details && { details }) } };
}

/**
 * Returns the specification after an update. Fields missing from the patch keep their values; others are replaced as a
 * whole, lists too, so that an empty list clears; `null` removes an optional field. The patch may contain the app's own
 * name, as a file does that the app was deployed from. A secret may omit its value to keep it, and a file its content. Error: `InvalidRequest`.
 */
export function mergeSpec(current: AppSpec, patch: unknown, takeFiles: TakeFiles = takeNoFiles): ParsedAppSpec {
  const parsed = parseAppUpdate(withoutName(patch, current.name));
  if (!parsed.ok) return parsed;
  const environments = mergeEnvironments(current.environments, parsed.update.environments);
  if (environments instanceof EdgeError) return { ok: false, error: environments };
  const { files: requested, ...update } = parsed.update;
  const files = requested ? takeFiles(requested, current.files ?? []) : requested;
  if (files instanceof EdgeError) return { ok: false, error: files };
  const merged = Object.entries({ ...current, ...update, environments, ...(files !== undefined && { files }) });
  return parseAppSpec(Object.fromEntries(merged.filter(([key, value]) => value !== null && !isEmptyExtra(key, value))));
}

type Environments = AppSpec["environments"];

/**
 * Returns the variables after an update. A secret without a value keeps the current one; so does one whose value is the
 * mask, as in an answer that was sent back.
 */
function mergeEnvironments(current: Environments, update: AppUpdate["environments"]): Environments | EdgeError {
  if (!update) return current;
  const existing = new Map(current.map((entry) => [entry.key, entry]));
  const issues: RequestIssue[] = [];
  const merged = update.map((entry, index) => {
    const isKept = entry.value === undefined || (entry.secret === true && entry.value === MASKED_VALUE);
    const kept = isKept ? existing.get(entry.key) : undefined;
    const value = kept?.value ?? entry.value;
    if (value === undefined) issues.push({ path: `environments[${index}].value`, reason: NO_VALUE });
    return { ...(kept?.secret_parts && { secret_parts: kept.secret_parts }), ...entry, value: value ?? "" };
  });
  return issues.length > 0 ? invalidRequest(issues) : merged;
}

const NO_VALUE = "is missing, and the app has no variable of this key whose value could stay";

/**
 * Whether an update asks what its image is by now: it names one, or gives a `pull` by which the registry is asked.
 * Otherwise the current image is kept.
 */
function asksForImage(patch: unknown): boolean {
  if (typeof patch !== "object" || patch === null) return false;
  const { pull } = patch as { pull?: unknown };
  return Object.hasOwn(patch, "image") || pull === "changed" || pull === "always";
}

function withoutName(patch: unknown, name: string): unknown {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  return Object.fromEntries(Object.entries(patch).filter(([key, value]) => key !== "name" || value !== name));
}

/** Lists that are absent by default: cleared, they are absent again. */
const EXTRA_LISTS: ReadonlySet<string> = new Set(["devices", "files"]);

function isEmptyExtra(key: string, value: unknown): boolean {
  return EXTRA_LISTS.has(key) && Array.isArray(value) && value.length === 0;
}
