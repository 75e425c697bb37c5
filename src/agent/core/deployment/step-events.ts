import type { EventContent } from "../../../protocol/deployments/deployment-event.ts";
import type { AppSpec } from "../../../protocol/apps/app-spec.ts";
import type { DeploymentRecord } from "../records.ts";
import { costDetails, costText } from "../image/pull-cost.ts";
import { failEvent } from "./fail-event.ts";
import { mayExit } from "../app/restart-policy.ts";
import type { ImageCheck, Step } from "./step.ts";
import type { ErrorDetails } from "../../../protocol/errors/errors.ts";
import { namedVolumesOf } from "../../../protocol/apps/volume-fields.ts";

/** `sha256:` and twelve digits. */
const SHORT_DIGEST_LENGTH = 19;

/** Returns the events that announce a step; none for steps that are not worth reporting. */
export function stepEvents(step: Step, record: DeploymentRecord): EventContent[] {
  if (step.kind === "succeed") return [successEvent(step, record)];
  if (step.kind === "fail") return [failEvent(step.failure, record)];
  if (step.kind === "report_cost") return [costEvent(step, record)];
  // Only a rollback that restores the app is reported, not the removal of a failed first version.
  if (record.failure) return record.touched && rollbackRestoresApp(record) ? rollbackEvents(step, record) : [];
  switch (step.kind) {
    case "check":
      return [runningEvent("checking", "Checking ports, name, policy and disk space.")];
    case "resolve":
      // Reported for the first attempt only.
      return step.attempt === 1 ? [runningEvent("pulling", `Asking the registry for image ${step.spec.image}.`)] : [];
    case "fetch":
      return [runningEvent("pulling", "Fetching files of the app from the service.")];
    case "pull":
      return [runningEvent("pulling", `Pulling image ${step.spec.image}.`)];
    case "create":
      return [
        runningEvent(
          "creating",
          step.place === "new_version" ? "Creating the new version's container." : "Creating the container.",
        ),
        ...(step.spec.host_network && step.spec.ports.length > 0
          ? [runningEvent("creating", "The app is on the host's network: its port mapping has no effect.")]
          : []),
      ];
    case "switch":
      return [
        runningEvent("starting", step.start ? "Switching to the new version." : "Putting the new version in place."),
      ];
    case "start":
      return [runningEvent("starting", "Starting the app.")];
    case "verify":
      return [runningEvent("verifying", "Verifying that the app stays up.")];
    case "stop":
      return [runningEvent("stopping", "Stopping the app.")];
    case "clean":
      return record.action === "remove" ? [runningEvent("removing", "Removing the app's container.")] : [];
    case "try":
    case "rename":
    case "connect":
    case "commit":
    case "revert":
      return [];
  }
}

function costEvent(
  { cost, imageCheck }: Extract<Step, { kind: "report_cost" }>,
  { action, app, digest, imageId, spec }: DeploymentRecord,
): EventContent {
  const what = action === "update" ? "Updating" : "Deploying";
  const message =
    cost.downloadBytes === 0
      ? `Nothing was changed. ${what} app ${app} would download nothing: ${whyNothing(spec, imageCheck)}.`
      : `Nothing was changed. ${what} app ${app} would cost: ${costText(cost)}`;
  // An update whose image has moved may cost nothing, and still replace what runs.
  const moved =
    action === "update" && imageId === undefined && digest !== undefined
      ? ` ${spec?.image} is ${shortDigest(digest)} now.`
      : "";
  const details = { dry_run: true, ...costDetails(cost), ...(digest !== undefined && { image_digest: digest }) };
  return { status: "Success", step: "done", message: message + moved, details };
}

function whyNothing(spec: AppSpec | undefined, imageCheck: ImageCheck | undefined): string {
  if (imageCheck !== "unknown") return "all it needs is on the device";
  return `the registry could not be asked what ${spec?.image} is now, and the image on the device would be used`;
}

/** A `Running` event. */
export function runningEvent(step: EventContent["step"], message: string): EventContent {
  return { status: "Running", step, message };
}

/** Whether the rollback starts something that ran before. */
function rollbackRestoresApp({ action, previous }: DeploymentRecord): boolean {
  return previous?.desired === "running" && action !== "start" && action !== "restart";
}

function rollbackEvents({ kind }: Step, { action }: DeploymentRecord): EventContent[] {
  const what = action === "update" ? "the previous version" : "the app";
  const texts: Partial<Record<Step["kind"], string>> = {
    ...(action === "update" && { stop: "Stopping the new version.", clean: "Removing the new version." }),
    create: `Making ${what}'s container anew.`,
    start: `Starting ${what} again.`,
    verify: `Verifying that ${what} runs.`,
  };
  const text = texts[kind];
  return text === undefined ? [] : [runningEvent("rolling_back", text)];
}

function successEvent(step: Extract<Step, { kind: "succeed" }>, record: DeploymentRecord): EventContent {
  const message = success(step, record);
  const volumes = step.result === "removed" && record.previous ? keptVolumes(record.previous.spec) : undefined;
  const left = record.leftBehind?.map(({ name }) => name);
  return {
    status: "Success",
    step: "done",
    message: volumes ? `${message} ${volumes.text}` : message,
    ...((volumes || left) && { details: { ...volumes?.details, ...(left && { left_behind: left }) } }),
  };
}

function success(step: Extract<Step, { kind: "succeed" }>, record: DeploymentRecord): string {
  const { app, spec, previous } = record;
  const wasStopped = previous?.desired === "stopped";
  // The app may have ended by now, as its restart policy allows.
  const canEnd = mayExit(spec?.restart_policy);
  switch (step.result) {
    case "installed":
      return canEnd ? `App ${app} is deployed.` : `App ${app} is running.`;
    case "updated":
      if (wasStopped) return `App ${app} is updated. It stays stopped until it is started.`;
      return canEnd ? `App ${app} is updated.` : `App ${app} is updated and running.`;
    case "unchanged":
      return unchanged(step.imageCheck, record);
    case "removed":
      return `App ${app} is removed.`;
    case "stopped":
      return `App ${app} ${wasStopped ? "was stopped already" : "is stopped, and stays so until it is started"}.`;
    case "started":
      return canEnd ? `App ${app} was started.` : `App ${app} is running.`;
    case "restarted":
      return canEnd ? `App ${app} was restarted.` : `App ${app} was restarted and is running.`;
  }
}

/** Says that the tag still means the same image only where the registry has said so. */
function unchanged(imageCheck: ImageCheck | undefined, { app, spec, digest }: DeploymentRecord): string {
  const asAskedFor = `is as asked for already, and was not restarted.`;
  if (imageCheck === "unknown") {
    return `Nothing was changed: the registry could not be asked whether ${spec?.image} has moved. App ${app} ${asAskedFor}`;
  }
  if (imageCheck === undefined || digest === undefined) return `Nothing to change: app ${app} ${asAskedFor}`;
  return `Nothing to change: ${spec?.image} is still ${shortDigest(digest)}. App ${app} ${asAskedFor}`;
}

function shortDigest(digest: string): string {
  return digest.slice(0, SHORT_DIGEST_LENGTH);
}

/** Names listed in a message; the rest is counted. */
const MAX_NAMES = 10;

/** Says which volumes stay when an app is removed, and how to free them; `undefined` if it has none. */
function keptVolumes(spec: AppSpec): { readonly text: string; readonly details: ErrorDetails } | undefined {
  const names = [...new Set(namedVolumesOf(spec).map(({ name }) => name))];
  if (names.length === 0) return undefined;
  const more = names.length - MAX_NAMES;
  const listed = names.slice(0, MAX_NAMES).join(", ") + (more > 0 ? ` and ${more} more` : "");
  const subject = names.length === 1 ? `volume ${listed}` : `volumes ${listed}`;
  return {
    text: `Its data stays in the ${subject}, until \`edgectl volumes remove\` deletes it.`,
    details: { kept_volumes: names.slice(0, MAX_NAMES), ...(more > 0 && { kept_volumes_left_out: more }) },
  };
}
