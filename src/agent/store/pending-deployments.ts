import type { DeploymentStep } from "../../protocol/deployments/deployment-event.ts";
import type { StoreReader } from "./store.ts";

/** A deployment that has not ended, with its last event. */
export interface PendingDeployment {
  readonly id: string;
  readonly app: string;
  readonly origin: string;
  readonly step: DeploymentStep;
  readonly message: string;
  /** Percent, while pulling. */
  readonly progress: number | null;
}

/** Returns the deployments that have not ended. */
export function pendingDeployments(store: StoreReader): PendingDeployment[] {
  const pending = store.deployments().filter(({ outcome, group }) => outcome === "pending" && !group);
  if (pending.length === 0) return [];
  return store.history(pending.length).flatMap((entry) => {
    if (entry.kind !== "deployment") return [];
    const last = entry.events.at(-1);
    const { id, app, origin } = entry;
    const { step = "received", message = "", progress = null } = last ?? {};
    return [{ id, app, origin, step, message, progress }];
  });
}
