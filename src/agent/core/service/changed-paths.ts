/**
 * Returns where two values made of plain objects differ, as dotted paths such as `link.keepalive_s`. An array counts as
 * one value.
 */
export function changedPaths(before: unknown, after: unknown, path: string = ""): string[] {
  if (!isRecord(before) || !isRecord(after)) return JSON.stringify(before) === JSON.stringify(after) ? [] : [path];
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].flatMap((key) => changedPaths(before[key], after[key], path === "" ? key : `${path}.${key}`));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
