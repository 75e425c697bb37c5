import type { PlannedChange } from "../../protocol/apply.ts";
import { formatBytes } from "../../lib/terminal/bytes.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import { padEnd } from "../../lib/terminal/width.ts";
import type { MappedPort } from "../group/map-ports.ts";

/** The answer of a dry run. */
interface GroupPlan {
  readonly plan: readonly PlannedChange[];
  readonly download_bytes: number;
  readonly not_in_request: readonly string[];
}

const TITLES: Readonly<Record<PlannedChange["change"], string>> = {
  create: "new",
  update: "changes",
  remove: "removed; its data stays",
  none: "nothing to change",
};

/** Renders what an apply does: one title per app, below it one line per field that differs. */
export function renderGroupPlan(
  { plan, download_bytes: bytes, not_in_request: others }: GroupPlan,
  theme: Theme,
): string {
  const lines = plan.flatMap(({ app, change, fields }) => [
    `${theme.bold(sanitizeLine(app))}: ${paint(TITLES[change], change, theme)}`,
    ...fields.map((field) => `  ${theme.yellow(`~ ${sanitizeLine(field)}`)}`),
  ]);
  if (others.length > 0) {
    lines.push(`Not in the file, and left as they are: ${others.map(sanitizeLine).join(", ")}  (--prune removes them)`);
  }
  if (bytes > 0) lines.push(`To download: ${formatBytes(bytes)}`);
  return lines.join("\n");
}

function paint(title: string, change: PlannedChange["change"], theme: Theme): string {
  if (change === "create") return theme.green(title);
  return change === "remove" ? theme.red(title) : title;
}

/** Renders the host ports that were chosen, such as `mosquitto  1883 -> 31022  (1883 in the file)`. */
export function renderMappedPorts(ports: readonly MappedPort[], theme: Theme): string {
  const width = Math.max(0, ...ports.map(({ app }) => app.length));
  const lines = ports.map(({ app, port, hostPort }) => {
    const target = `${port.targetPort}${port.protocol === "udp" ? "/udp" : ""}`;
    const inFile = port.hostPort === undefined ? "none in the file" : `${port.hostPort} in the file`;
    return `  ${padEnd(sanitizeLine(app), width)}  ${hostPort}:${target}  (${inFile})`;
  });
  return [theme.bold("Ports on the device:"), ...lines].join("\n");
}
