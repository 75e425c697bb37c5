import { replacementOf } from "../../protocol/app-replacement.ts";
import type { AppSpec } from "../../protocol/app-spec.ts";
import { type DiffOptions, diffApp, type FieldChange } from "./diff.ts";
import { type AppDocument, fieldsInForce, unknownFields } from "./fields.ts";

/** What applying a file does to one app. */
export interface AppPlan {
  readonly app: string;
  readonly change: "create" | "update" | "none";
  readonly fields: readonly FieldChange[];
  /** Fields of the app that this version of edgectl does not know. They stay as they are. */
  readonly unknown_fields: readonly string[];
}

/** Plans one app. @param current its specification on the device; `undefined` if the device does not have it */
export function planApp(desired: AppSpec, current: AppDocument | undefined, options: DiffOptions): AppPlan {
  const fields = diffApp(current ?? {}, desired, options);
  if (!current) return { app: desired.name, change: "create", fields, unknown_fields: [] };
  const change = fields.length === 0 ? "none" : "update";
  return { app: desired.name, change, fields, unknown_fields: unknownFields(current) };
}

/**
 * Returns the update that makes the app as desired. The image is named only where it differs: naming it makes the device
 * look for a newer image under the same tag, which the plan does not show. A field that the app does not have is not
 * cleared, since an older service does not know every field.
 */
export function updateFor(desired: AppSpec, current: AppDocument): AppDocument {
  const inForce = fieldsInForce(current);
  const entries = Object.entries(replacementOf(desired));
  return Object.fromEntries(
    entries.filter(([field, value]) => {
      if (field === "image") return value !== inForce["image"];
      return value !== null || current[field] !== undefined;
    }),
  );
}
