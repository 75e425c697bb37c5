const LEAD = new Set(["level", "time", "name", "msg"]);

/** A line of the agent's log, which is JSON, as a person reads it; anything else stays as it is. */
export function readableLogLine(line: string): string {
  const entry = parse(line);
  if (!entry) return line;
  const { level = "", time = "", msg = "" } = entry;
  const fields = Object.entries(entry).flatMap(([name, value]) => (LEAD.has(name) ? [] : [`${name}=${show(value)}`]));
  return [
    show(time).slice(0, 19).replace("T", " "),
    show(level).padEnd(5),
    typeof msg === "string" ? msg : "",
    ...fields,
  ]
    .join(" ")
    .trimEnd();
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function show(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value);
  return /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
}
