import type { DeployOptions } from "../../../protocol/deploy-request.ts";
import type { AppAction } from "../../../protocol/deployment-action.ts";
import type { EdgeError } from "../../../protocol/errors.ts";
import type { AppRecord, DeploymentRecord, Failure } from "./record.ts";
import { newRecord } from "./record.ts";
import { mergeSpec, namesImage } from "./merge-spec.ts";

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
