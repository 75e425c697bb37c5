import { type AppSpec, type ParsedAppSpec, parseAppSpec } from "../../../protocol/app-spec.ts";
import { parseAppUpdate } from "../../../protocol/app-update.ts";

/**
 * The specification an update leads to. Fields the patch leaves out keep their values; those it has replace them whole,
 * lists too, so that an empty list clears; `null` takes away what is absent by default. The app's own name may stand in
 * it, as in a file an app was deployed from. Error: `InvalidRequest`.
 */
export function mergeSpec(current: AppSpec, patch: unknown): ParsedAppSpec {
  const parsed = parseAppUpdate(withoutName(patch, current.name));
  if (!parsed.ok) return parsed;
  const merged = Object.entries({ ...current, ...parsed.update });
  return parseAppSpec(Object.fromEntries(merged.filter(([key, value]) => value !== null && !isNoDevice(key, value))));
}

/** Whether an update names an image: then its reference is resolved anew; otherwise the image in force is kept. */
export function namesImage(patch: unknown): boolean {
  return typeof patch === "object" && patch !== null && Object.hasOwn(patch, "image");
}

function withoutName(patch: unknown, name: string): unknown {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  return Object.fromEntries(Object.entries(patch).filter(([key, value]) => key !== "name" || value !== name));
}

/** The one list that is absent by default: cleared, an app is as one that never had it. */
function isNoDevice(key: string, value: unknown): boolean {
  return key === "devices" && Array.isArray(value) && value.length === 0;
}
