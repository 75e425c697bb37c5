import type { RequestedAppSpec } from "./app-spec.ts";
import { type AppUpdate, appUpdateSchema } from "./app-update.ts";

/** Returns the update that turns any app into `spec`: fields that `spec` does not have are cleared. */
export function replacementOf(spec: RequestedAppSpec): AppUpdate {
  const { name: _, ...fields } = spec;
  // Fields with a default are always in `spec`, so those missing from it are the ones that `null` removes.
  const clearable = Object.keys(appUpdateSchema.shape).filter((field) => field !== "name");
  return { ...Object.fromEntries(clearable.map((field) => [field, null])), ...fields };
}
