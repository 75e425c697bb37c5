import { formatTime } from "../../parts/durations.ts";

/** Returns names and texts of an entry's details, without those that say nothing, such as the type of an asset without one. */
export function shownDetails(details: Readonly<Record<string, unknown>>): (readonly [name: string, text: string])[] {
  return Object.entries(details)
    .filter(([, value]) => !isEmpty(value))
    .map(([name, value]) => [name, formatDetail(name, value)]);
}

/** Times of the API have names with `_at`. */
function formatDetail(name: string, value: unknown): string {
  if (name.endsWith("_at") && typeof value === "number") return formatTime(value);
  return typeof value === "string" ? value : JSON.stringify(value);
}

function isEmpty(value: unknown): boolean {
  if (typeof value !== "object") return value === undefined || value === "";
  return value === null || Object.keys(value).length === 0;
}
