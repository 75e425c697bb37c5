import { replacementOf } from "../../protocol/apps/app-update.ts";
import { MASK } from "../../lib/redact.ts";
import type { RequestedAppSpec } from "../../protocol/apps/app-spec.ts";
import { asksRegistry, diffApp, type DiffOptions, type FieldChange, fieldsInForce, unknownFields } from "./diff.ts";
import { type AppDocument, entriesOf } from "../../protocol/apps/fields-in-force.ts";

/** What applying a file does to one app. */
export interface AppPlan {
  readonly app: string;
  readonly change: "create" | "update" | "none";
  readonly fields: readonly FieldChange[];
  /** Fields of the app that this version of edgectl does not know. They stay as they are. */
  readonly unknown_fields: readonly string[];
}

/** Plans one app. @param current its specification on the device; `undefined` if the device does not have it */
export function planApp(desired: RequestedAppSpec, current: AppDocument | undefined, options: DiffOptions): AppPlan {
  const fields = diffApp(current ?? {}, desired, options);
  if (!current) return { app: desired.name, change: "create", fields, unknown_fields: [] };
  const change = fields.length === 0 ? "none" : "update";
  return { app: desired.name, change, fields, unknown_fields: unknownFields(current) };
}

/** Returns the secrets that are to keep a value which the app on the device does not have. */
export function secretsToGive(desired: RequestedAppSpec, current: AppDocument | undefined): string[] {
  const known = new Set(entriesOf(current?.["environments"]).map(({ key }) => key));
  return desired.environments.filter((entry) => isKept(entry) && !known.has(entry.key)).map(({ key }) => key);
}

/**
 * Returns the update that makes the app as desired. The image is named only where it differs: naming it makes the device
 * look for a newer image under the same tag, which the plan does not show. A field that the app does not have is not cleared: a
 * service of an earlier version, which may not know it, would refuse that.
 */
export function updateFor(desired: RequestedAppSpec, current: AppDocument): AppDocument {
  const inForce = fieldsInForce(current);
  const replacement = {
    ...replacementOf(desired),
    environments: desired.environments.map((entry) => (isKept(entry) ? { key: entry.key, secret: true } : entry)),
  };
  return Object.fromEntries(
    Object.entries(replacement).filter(([field, value]) => {
      if (field === "project" && value === null) return false;
      if (field === "image") return value !== inForce["image"] || asksRegistry(desired);
      return value !== null || current[field] !== undefined;
    }),
  );
}

/** Whether a variable keeps the value it has on the device. */
function isKept({ value, secret }: RequestedAppSpec["environments"][number]): boolean {
  return secret === true && value === MASK;
}

/** A field of an app that an update keeps. */
interface KeptField {
  readonly field: string;
  /** Absent for lists and objects. */
  readonly value?: unknown;
}

/** Whether a file describes a whole app rather than a change of one, such as only another image. */
export function isWholeApp(file: AppDocument): boolean {
  return "name" in file || ("image" in file && Object.keys(file).length > 1);
}

/** Returns what an app has and an update does not mention: an update changes the fields it names and keeps all others. */
export function stillInForce(current: AppDocument, update: AppDocument): KeptField[] {
  return Object.entries(fieldsInForce(current))
    .filter(([field]) => !(field in update) && field !== "image")
    .map(([field, value]) => (typeof value === "object" ? { field } : { field, value }));
}
