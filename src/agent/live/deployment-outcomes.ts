import { truncateMessage } from "../../protocol/deployments/deployment-event.ts";
import type { DeploymentOutcome } from "../../protocol/deployments/deployment-outcome.ts";
import { requestedDeploymentId } from "../core/apply/child-id.ts";
import { isErrorCode } from "../../protocol/errors/errors.ts";
import { type DeploymentEntry, MAX_HISTORY_ENTRIES, MAX_HISTORY_EXCESS_ENTRIES } from "../store/history.ts";
import type { AgentStore } from "../store/store.ts";

/** Deployments and repairs are bounded separately. */
const MAX_STORED_ENTRIES = 2 * (MAX_HISTORY_ENTRIES + MAX_HISTORY_EXCESS_ENTRIES);

/**
 * Returns the stored outcome of each deployment. A deployment that is no longer in the history counts as successful if
 * an installed app is its result.
 */
export function readDeploymentOutcomes(
  store: Pick<AgentStore, "deployment" | "history" | "apps">,
  ids: readonly string[],
): DeploymentOutcome[] {
  const entries = store.history(MAX_STORED_ENTRIES).filter((entry) => entry.kind === "deployment");
  const ended = new Map(entries.map((entry) => [entry.id, entry]));
  const installed = store.apps().filter(({ isAdopted }) => !isAdopted);
  const results = new Set(installed.map(({ deploymentId }) => requestedDeploymentId(deploymentId)));
  return ids.map((id) => {
    const end = ended.get(id);
    // Stored until its end is acknowledged, also while it is rolled back.
    if (store.deployment(id)) return { deployment_id: id, status: "Running" };
    if (end) return outcomeOf(end);
    return { deployment_id: id, status: results.has(id) ? "Success" : null };
  });
}

function outcomeOf({ id, events }: DeploymentEntry): DeploymentOutcome {
  const final = events.at(-1);
  if (!final) return { deployment_id: id, status: null };
  const { status, message, code } = final;
  return {
    deployment_id: id,
    status,
    message: truncateMessage(message),
    ...(code !== undefined && isErrorCode(code) && { code }),
  };
}
