import type { AppRecord } from "../core/deployment/record.ts";
import type { AgentStore } from "./store.ts";

/**
 * Changes an app as it is on record at this moment, whatever the caller knew of it: reading and writing are one. Nothing
 * is written where it was removed meanwhile, or is the result of another deployment. Errors: `StoreError`.
 */
export function updateAppRecord(
  store: Pick<AgentStore, "apps" | "save">,
  { name, deploymentId }: Pick<AppRecord, "name" | "deploymentId">,
  change: (app: AppRecord) => AppRecord,
): void {
  const app = store.apps().find((record) => record.name === name && record.deploymentId === deploymentId);
  if (app) store.save({ app: change(app) });
}
