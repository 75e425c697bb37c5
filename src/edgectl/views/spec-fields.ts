import { formatBytes } from "../../lib/terminal/bytes.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { formatDuration } from "../../lib/terminal/time.ts";
import { containerFields } from "./container-fields.ts";
import { fieldText } from "./field-text.ts";

type Row = [name: string, value: string];
type Spec = Readonly<Record<string, unknown>>;

/** Renders a specification's fields other than name, image and ports. Fields unknown to this version are omitted. */
export function specFields(spec: Spec): Row[] {
  const rows: Row[] = [
    ["Variables", lines(spec["environments"], variable)],
    ["Volumes", lines(spec["volumes"], (volume) => fieldText("volumes", volume))],
    ["Files", lines(spec["files"], (file) => fieldText("files", file))],
    ["Devices", lines(spec["devices"], (device) => fieldText("devices", device))],
    ["Command", Array.isArray(spec["command"]) ? spec["command"].map(text).join(" ") : ""],
    ["Processors", limit(spec["cpu_limit"], String)],
    ["Memory", limit(spec["memory_limit"], formatBytes)],
    ["Health check", isObject(spec["healthcheck"]) ? healthcheck(spec["healthcheck"]) : ""],
    ["Health timeout", typeof spec["health_timeout_s"] === "number" ? formatDuration(spec["health_timeout_s"]) : ""],
    ["Project", typeof spec["project"] === "string" ? text(spec["project"]) : ""],
    ["Pull", typeof spec["pull"] === "string" ? text(spec["pull"]) : ""],
    ["Restart", typeof spec["restart_policy"] === "string" ? text(spec["restart_policy"]) : ""],
    ["Further names", Array.isArray(spec["aliases"]) ? spec["aliases"].map(text).join(", ") : ""],
    ["Networks", Array.isArray(spec["networks"]) ? spec["networks"].map(text).join(", ") : ""],
    [
      "Internal networks",
      Array.isArray(spec["internal_networks"]) ? spec["internal_networks"].map(text).join(", ") : "",
    ],
    ["Network", typeof spec["network"] === "string" ? text(spec["network"]) : ""],
    ["Host network", spec["host_network"] === true ? "yes" : ""],
    ["Privileged", spec["privileged"] === true ? "yes" : ""],
    ...containerFields(spec),
  ];
  return rows.filter(([, value]) => value !== "");
}

function variable({ key, value, secret }: Spec): string {
  return `${text(key)}=${text(value)}${secret === true ? " (secret)" : ""}`;
}

/** The command, and in a second line when it runs and what its failures mean. */
function healthcheck({ command, interval_s, timeout_s, retries, start_period_s }: Spec): string {
  const parts: string[] = [];
  if (typeof interval_s === "number") parts.push(`every ${formatDuration(interval_s)}`);
  if (typeof timeout_s === "number") parts.push(`at most ${formatDuration(timeout_s)}`);
  if (typeof retries === "number") parts.push(`unhealthy after ${retries} ${retries === 1 ? "failure" : "failures"}`);
  const grace = typeof start_period_s === "number" ? start_period_s : 0;
  const ignored = grace > 0 ? `; failures of the first ${formatDuration(grace)} do not count` : "";
  return [commandText(command), `${parts.join(", ")}${ignored}`].filter((line) => line !== "").join("\n");
}

/** A command without a shell as JSON, so that its arguments can be told apart. */
function commandText(command: unknown): string {
  if (!Array.isArray(command)) return "";
  const isShell = command.length === 3 && command[0] === "sh" && command[1] === "-c";
  return text(isShell ? command[2] : JSON.stringify(command));
}

function limit(value: unknown, show: (value: number) => string): string {
  return typeof value === "number" ? `at most ${show(value)}` : "";
}

function lines(value: unknown, show: (entry: Spec) => string): string {
  if (!Array.isArray(value)) return "";
  return value.filter(isObject).map(show).join("\n");
}

function isObject(value: unknown): value is Spec {
  return typeof value === "object" && value !== null;
}

function text(value: unknown): string {
  return sanitizeLine(String(value));
}
