import { closestName } from "../../protocol/values/closest-name.ts";
import type { Value } from "../documents/value.ts";

/** Adds a problem for each key that is not known. Keys that begin with `x-` are ignored, as the specification says. */
export function refuseUnknown(fields: ReadonlyMap<string, Value>, known: readonly string[]): void {
  for (const [key, value] of fields) if (!known.includes(key)) refuseUnknownKey(key, value, known);
}

export function refuseUnknownKey(key: string, value: Value, known: readonly string[]): void {
  if (key.startsWith("x-")) return;
  const closest = closestName(key, known);
  value.refuse(closest === undefined ? "is not known." : `is not known; did you mean \`${closest}\`?`);
}
