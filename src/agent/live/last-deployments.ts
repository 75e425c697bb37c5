import type { AppReport } from "../../protocol/app-report.ts";
import { isErrorCode } from "../../protocol/errors.ts";
import type { HistoryEntry, DeploymentEntry } from "../store/history.ts";

type LastDeployment = NonNullable<AppReport["last_deployment"]>;

/** How the last deployment of each app ended, by app, as far back as the history goes; dry runs are none. */
export function lastDeployments(history: readonly HistoryEntry[]): Map<string, LastDeployment> {
  const last = new Map<string, LastDeployment>();
  for (const entry of history) {
    const ended = entry.kind === "deployment" && !entry.dry_run ? toLastDeployment(entry) : undefined;
    if (ended) last.set(entry.app, ended);
  }
  return last;
}

function toLastDeployment({ id, action, events }: DeploymentEntry): LastDeployment | undefined {
  const final = events.at(-1);
  if (!final || final.status === "Running") return undefined;
  const { status, code, at } = final;
  return {
    deployment_id: id.slice(0, 64),
    action,
    status,
    ...(code !== undefined && isErrorCode(code) && { code }),
    finished_at: at,
  };
}
