import { formatBytes } from "../../lib/terminal/bytes.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";

type Row = [name: string, value: string];
type Spec = Readonly<Record<string, unknown>>;

/** Renders a specification's fields other than name, image and ports. Fields unknown to this version are omitted. */
export function specFields(spec: Spec): Row[] {
  const rows: Row[] = [
    ["Variables", lines(spec["environments"], variable)],
    ["Volumes", lines(spec["volumes"], volume)],
    [
      "Devices",
      lines(spec["devices"], ({ local, target }) => (target ? `${text(local)}:${text(target)}` : text(local))),
    ],
    ["Command", Array.isArray(spec["command"]) ? spec["command"].map(text).join(" ") : ""],
    ["Processors", limit(spec["cpu_limit"], String)],
    ["Memory", limit(spec["memory_limit"], formatBytes)],
    ["Restart", typeof spec["restart_policy"] === "string" ? text(spec["restart_policy"]) : ""],
    ["Host network", spec["host_network"] === true ? "yes" : ""],
    ["Privileged", spec["privileged"] === true ? "yes" : ""],
  ];
  return rows.filter(([, value]) => value !== "");
}

function variable({ key, value, secret }: Spec): string {
  return `${text(key)}=${text(value)}${secret === true ? " (secret)" : ""}`;
}

function volume({ local, target, readonly }: Spec): string {
  return `${text(local)}:${text(target)}${readonly === true ? ":ro" : ""}`;
}

function limit(value: unknown, show: (value: number) => string): string {
  return typeof value === "number" ? `at most ${show(value)}` : "";
}

function lines(value: unknown, show: (entry: Spec) => string): string {
  if (!Array.isArray(value)) return "";
  return value
    .filter((entry): entry is Spec => typeof entry === "object" && entry !== null)
    .map(show)
    .join("\n");
}

function text(value: unknown): string {
  return sanitizeLine(String(value));
}
