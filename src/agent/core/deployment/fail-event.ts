import type { EventContent } from "../../../protocol/deployment-event.ts";
import { errorEntry } from "../../../protocol/errors.ts";
import type { DeploymentRecord, Failure } from "./record.ts";
import { mayExit } from "../app/restart-policy.ts";

/** The event a deployment fails with: what went wrong, and what has become of the app that was there before. */
export function failEvent(failure: Failure, record: DeploymentRecord): EventContent {
  const { code, step } = failure;
  const details = { ...failure.details, ...rollbackDetails(record, code) };
  return {
    status: "Fail",
    step,
    code,
    message: message(failure, rollbackText(record)),
    ...(Object.keys(details).length > 0 && { details }),
  };
}

/** Texts the specification fixes are returned to the letter, whatever was known at the place of failure. */
function message({ code, message: own }: Failure, more: string | undefined): string {
  const entry = errorEntry(code);
  if (entry.fixedMessage) return entry.message;
  const text = own === "" ? entry.message : own;
  return more === undefined ? text : `${text}${/[.!?…]$/.test(text) ? "" : "."} ${more}`;
}

/** For programs; and for people where the message must not say more. */
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
