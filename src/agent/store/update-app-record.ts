import type { AppRecord } from "../core/records.ts";
import type { AgentStore } from "./store.ts";

/**
 * Changes the currently stored record of an app, not a copy the caller may have read earlier. Writes nothing when the
 * app was removed meanwhile, or is the result of another deployment. Throws `StoreError`.
 */
export function updateAppRecord(
  store: Pick<AgentStore, "apps" | "save">,
  { name, deploymentId }: Pick<AppRecord, "name" | "deploymentId">,
  change: (app: AppRecord) => AppRecord,
): void {
  const app = store.apps().find((record) => record.name === name && record.deploymentId === deploymentId);
  if (app) store.save({ app: change(app) });
}
