import { truncateMessage } from "../../protocol/deployment-event.ts";
import type { DeploymentOutcome } from "../../protocol/deployment-outcome.ts";
import { isErrorCode } from "../../protocol/errors.ts";
import { type DeploymentEntry, MAX_HISTORY_ENTRIES, MAX_HISTORY_EXCESS_ENTRIES } from "../store/history.ts";
import type { AgentStore } from "../store/store.ts";

/** Entries of deployments and of repairs have each their own bound. */
const MAX_STORED_ENTRIES = 2 * (MAX_HISTORY_ENTRIES + MAX_HISTORY_EXCESS_ENTRIES);

/**
 * What is on record of these deployments. One whose end is longer ago than the history goes back has succeeded where an
 * app is still the result of it.
 */
export function readDeploymentOutcomes(
  store: Pick<AgentStore, "deployment" | "history" | "apps">,
  ids: readonly string[],
): DeploymentOutcome[] {
  const entries = store.history(MAX_STORED_ENTRIES).filter((entry) => entry.kind === "deployment");
  const ended = new Map(entries.map((entry) => [entry.id, entry]));
  const results = new Set(store.apps().flatMap(({ deploymentId, isAdopted }) => (isAdopted ? [] : [deploymentId])));
  return ids.map((id) => {
    const end = ended.get(id);
    // Held until its end is acknowledged, one that is being undone included.
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
