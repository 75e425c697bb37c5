import { sanitizeLine, sanitizeLines } from "../lib/terminal/sanitize.ts";

const MAX_LINES = 40;

/** Renders an error's details as lines, safe to print. Objects in a list become one line each. */
export function renderDetails(details: Readonly<Record<string, unknown>>): string[] {
  const lines = Object.entries(details).flatMap(([name, value]) => renderEntry(sanitizeLine(name), value));
  if (lines.length <= MAX_LINES) return lines;
  return [...lines.slice(0, MAX_LINES), `… (${lines.length - MAX_LINES} more lines; --json shows all)`];
}

function renderEntry(name: string, value: unknown): string[] {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value)) {
    return value.length === 0 ? [] : [`${name}:`, ...value.flatMap((item) => renderItem(item))];
  }
  if (typeof value === "string") {
    const lines = sanitizeLines(value);
    return lines.length > 1 ? [`${name}:`, ...lines.map((line) => `  ${line}`)] : [`${name}: ${lines[0] ?? ""}`];
  }
  return [`${name}: ${scalar(value)}`];
}

function renderItem(item: unknown): string[] {
  if (isIssue(item))
    return [`  ${sanitizeLine(item.path === "" ? "request" : item.path)}: ${sanitizeLine(item.reason)}`];
  if (typeof item === "string") return sanitizeLines(item).map((line) => `  ${line}`);
  return [`  ${scalar(item)}`];
}

function scalar(value: unknown): string {
  if (typeof value !== "object" || value === null) return sanitizeLine(String(value));
  const parts = Object.entries(value).map(
    ([name, part]) => `${name} ${typeof part === "object" ? JSON.stringify(part) : String(part)}`,
  );
  return sanitizeLine(parts.join(", "));
}

function isIssue(item: unknown): item is { path: string; reason: string } {
  if (typeof item !== "object" || item === null) return false;
  const { path, reason } = item as Record<string, unknown>;
  return typeof path === "string" && typeof reason === "string";
}
