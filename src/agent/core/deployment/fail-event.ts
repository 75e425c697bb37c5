import type { EventContent } from "../../../protocol/deployments/deployment-event.ts";
import { errorEntry } from "../../../protocol/errors/errors.ts";
import type { DeploymentRecord, Failure } from "../records.ts";
import { mayExit } from "../app/restart-policy.ts";

/** Returns the final event of a failed deployment: what went wrong, and in what state the previous app is. */
export function failEvent(failure: Failure, record: DeploymentRecord): EventContent {
  const { code, step } = failure;
  const { madeDirectories: made = [], madeVolumes = [], leftBehind = [] } = record;
  const details = {
    ...failure.details,
    ...(made.length > 0 && { made_directories: made }),
    ...(madeVolumes.length > 0 && { made_volumes: madeVolumes }),
    ...(leftBehind.length > 0 && { left_behind: leftBehind.map(({ name }) => name) }),
    ...rollbackDetails(record, code),
  };
  return {
    status: "Fail",
    step,
    code,
    message: message(failure, rollbackText(record)),
    ...(Object.keys(details).length > 0 && { details }),
  };
}

/** Texts fixed by the specification replace the failure's own. */
function message({ code, message: own }: Failure, addition: string | undefined): string {
  const entry = errorEntry(code);
  if (entry.fixedMessage) return entry.message;
  return addition === undefined ? own : `${own}${/[.!?…]$/.test(own) ? "" : "."} ${addition}`;
}

/** Result of the rollback for programs; and for people where the message is fixed. */
function rollbackDetails(record: DeploymentRecord, code: Failure["code"]): Record<string, unknown> {
  const { action, previous, touched, rollbackFailure } = record;
  if (!previous || action === "start" || action === "restart") return {};
  return {
    rolled_back: touched && !rollbackFailure,
    previous: { deployment_id: previous.deploymentId, image: previous.spec.image },
    ...(errorEntry(code).fixedMessage && { note: rollbackText(record) }),
    ...(rollbackFailure && {
      rollback_failure: {
        code: rollbackFailure.code,
        message: message(rollbackFailure, undefined),
        ...(rollbackFailure.details && { details: rollbackFailure.details }),
      },
    }),
  };
}

function rollbackText({ action, previous, touched, rollbackFailure }: DeploymentRecord): string | undefined {
  if (!previous) return undefined;
  const what = action === "update" ? "The previous version" : "The app";
  if (rollbackFailure) {
    return `${what} could not be brought back either: ${message(rollbackFailure, "The agent goes on trying.")}`;
  }
  if (!touched) return `${what} was not touched.`;
  if (previous.desired === "stopped") return `${what} is stopped, as before.`;
  if (mayExit(previous.spec.restart_policy)) return `${what} is in its place again.`;
  return action === "start" || action === "restart" ? undefined : `${what} runs again.`;
}
