import type { AppRecord, DeploymentRecord } from "../core/deployment/record.ts";
import type { RecordStep } from "../core/deployment/step.ts";
import type { StoreChange } from "../store/store.ts";

/** What is written for a step that is no more than that: the record's new fields, and what becomes of the app. */
export interface RecordChange extends Pick<StoreChange, "app" | "removedApp"> {
  readonly record: Partial<DeploymentRecord>;
}

export function toRecordChange(step: RecordStep, record: DeploymentRecord): RecordChange {
  const { app: name, previous } = record;
  switch (step.kind) {
    case "commit":
      return { record: { committed: true, containerId: step.app.containerId }, app: step.app };
    case "revert":
      // Nothing was there before: what was made is removed by its label, and that is all.
      if (step.superseded) return { record: { committed: false, touched: false } };
      return { record: { committed: false, touched: previous !== undefined }, ...appOrNone(step.app, name) };
    case "succeed":
      return {
        record: { outcome: "succeeded", committed: true, ...(step.result === "installed" && containerField(step.app)) },
        ...(step.result === "removed" ? { removedApp: name } : step.app && { app: withChangedBy(step.app, record) }),
      };
    case "quote":
      return { record: { outcome: "succeeded" } };
    case "fail":
      return { record: { outcome: "failed" }, ...(step.app && { app: step.app }) };
  }
}

function containerField(app: RecordChange["app"]): Pick<DeploymentRecord, "containerId"> {
  return { containerId: app?.containerId };
}

/** A stop, start or restart leaves the app's deployment as it was; who is to undo it must see whether another followed. */
function withChangedBy(app: AppRecord, { id }: DeploymentRecord): AppRecord {
  return app.deploymentId === id ? app : { ...app, changedBy: id };
}

function appOrNone(app: RecordChange["app"], name: string): Pick<RecordChange, "app" | "removedApp"> {
  return app ? { app } : { removedApp: name };
}
