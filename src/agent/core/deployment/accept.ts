import { type AppSpec, type ParsedAppSpec, parseAppSpec } from "../../../protocol/app-spec.ts";
import { parseAppUpdate } from "../../../protocol/app-update.ts";
import type { DeployOptions } from "../../../protocol/deploy-options.ts";
import type { AppAction } from "../../../protocol/deployment-action.ts";
import type { EdgeError } from "../../../protocol/errors.ts";
import type { AppRecord, DeploymentRecord, Failure } from "./record.ts";
import { newRecord } from "./record.ts";

/** Something that is to be done to an app that is there. */
export interface ChangeRequest {
  readonly action: AppAction;
  /** The app's name. */
  readonly app: string;
  /** For an update: what is to change. */
  readonly spec?: unknown;
  readonly options?: DeployOptions | undefined;
}

export interface AcceptContext {
  readonly id: string;
  readonly order: number;
  readonly origin: DeploymentRecord["origin"];
  /** The app as it is now. */
  readonly installed: AppRecord | undefined;
  /** The deployment that is at work on the app. */
  readonly busyWith: string | undefined;
}

/**
 * The record of a change as it is accepted. Everything that follows is planned from it, also after a crash: the patch is
 * merged here, and the app as it is now is kept to go back to. What cannot be done is accepted too, with its failure.
 */
export function accept(request: ChangeRequest, at: AcceptContext): DeploymentRecord {
  const { action, app } = request;
  const { id, order, origin, installed } = at;
  const record = { ...newRecord(id, order, undefined), action, app, origin, options: request.options ?? {} };
  if (at.busyWith !== undefined) {
    const message = `A deployment of ${app} is already running.`;
    return failing(record, "ErrorDeploymentAlreadyExist", message, { deployment_id: at.busyWith });
  }
  // What nothing is downloaded for has no price, and must not be done in place of being tried.
  if (request.options?.dry_run && action !== "update") {
    return failing(record, "InvalidRequest", "dry_run is for deployments and updates.");
  }
  if (!installed) return failing(record, "AppNotFound", `There is no app named ${app} on the device.`);
  const known = { ...record, previous: installed };
  if (action !== "update") return { ...known, spec: installed.spec, imageId: installed.imageId };
  const merged = mergeSpec(installed.spec, request.spec ?? {});
  if (!merged.ok) return { ...known, failure: toRequestFailure(merged.error) };
  const imageId = namesImage(request.spec) ? undefined : installed.imageId;
  return { ...known, spec: merged.spec, imageId };
}

/** What a request that cannot be carried out fails with. */
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
 * The specification an update leads to. Fields the patch leaves out keep their values; those it has replace them whole,
 * lists too, so that an empty list clears; `null` takes away what is absent by default. The app's own name may stand in
 * it, as in a file an app was deployed from. Error: `InvalidRequest`.
 */
export function mergeSpec(current: AppSpec, patch: unknown): ParsedAppSpec {
  const parsed = parseAppUpdate(withoutName(patch, current.name));
  if (!parsed.ok) return parsed;
  const merged = Object.entries({ ...current, ...parsed.update });
  return parseAppSpec(Object.fromEntries(merged.filter(([key, value]) => value !== null && !isNoDevice(key, value))));
}

/** Whether an update names an image: then its reference is resolved anew; otherwise the image in force is kept. */
function namesImage(patch: unknown): boolean {
  return typeof patch === "object" && patch !== null && Object.hasOwn(patch, "image");
}

function withoutName(patch: unknown, name: string): unknown {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  return Object.fromEntries(Object.entries(patch).filter(([key, value]) => key !== "name" || value !== name));
}

/** The one list that is absent by default: cleared, an app is as one that never had it. */
function isNoDevice(key: string, value: unknown): boolean {
  return key === "devices" && Array.isArray(value) && value.length === 0;
}
