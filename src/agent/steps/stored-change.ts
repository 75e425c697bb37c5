import type { DeploymentRecord } from "../core/deployment.ts";
import type { StoredStep } from "../core/step.ts";
import type { StoreChange } from "../store/store.ts";

/** What is written for a step that is no more than that: the record's new fields, and what becomes of the app. */
export interface StoredChange extends Pick<StoreChange, "app" | "removedApp"> {
  readonly record: Partial<DeploymentRecord>;
}

export function storedChange(step: StoredStep, { app: name, previous }: DeploymentRecord): StoredChange {
  switch (step.kind) {
    case "commit":
      return { record: { committed: true }, app: step.app };
    case "revert":
      // Nothing was there before: what was made is removed by its label, and that is all.
      if (step.superseded) return { record: { committed: false, touched: false } };
      return { record: { committed: false, touched: previous !== undefined }, ...appOrNone(step.app, name) };
    case "succeed":
      return {
        record: { outcome: "succeeded", committed: true },
        ...(step.result === "removed" ? { removedApp: name } : step.app && { app: step.app }),
      };
    case "quote":
      return { record: { outcome: "succeeded" } };
    case "fail":
      return { record: { outcome: "failed" }, ...(step.app && { app: step.app }) };
  }
}

function appOrNone(app: StoredChange["app"], name: string): Pick<StoredChange, "app" | "removedApp"> {
  return app ? { app } : { removedApp: name };
}
