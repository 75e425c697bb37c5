import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import { displayWidth, padEnd } from "../../lib/terminal/width.ts";
import type { FieldChange } from "../apply/diff.ts";
import type { AppPlan } from "../apply/plan.ts";
import { fieldText } from "./spec-fields.ts";
import { shortImage } from "../../lib/terminal/short-image.ts";
import type { AppDocument } from "../../protocol/apps/fields-in-force.ts";
import type { PlannedChange } from "../../protocol/apps/apply.ts";
import { formatBytes } from "../../lib/terminal/bytes.ts";
import type { MappedPort } from "../group/map-ports.ts";

const TITLES: Readonly<Record<AppPlan["change"], string>> = {
  create: "new",
  update: "changes",
  none: "nothing to change",
};

const SIGNS: Readonly<Record<FieldChange["change"], string>> = { add: "+", change: "~", remove: "-", check: "?" };

/** Renders what applying does: one title per app, below it one line per field. */
export function renderPlan(plans: readonly AppPlan[], theme: Theme): string {
  return plans.flatMap((plan) => renderApp(plan, theme)).join("\n");
}

function renderApp({ app, change, fields }: AppPlan, theme: Theme): string[] {
  const width = Math.max(0, ...fields.map(({ field }) => displayWidth(sanitizeLine(field))));
  const lines = fields.map((each) => {
    const text = [padEnd(sanitizeLine(each.field), width), valuesText(each)].filter((part) => part !== "").join("  ");
    return `  ${paint(`${SIGNS[each.change]} ${text}`.trimEnd(), each.change, theme)}`;
  });
  return [`${theme.bold(sanitizeLine(app))}: ${TITLES[change]}`, ...lines];
}

function valuesText(change: FieldChange): string {
  const list = change.field.split(".")[0] ?? "";
  const values = [change.old, change.new].filter((value) => value !== undefined).map((value) => fieldText(list, value));
  return [values.join(" -> "), change.note === undefined ? "" : `(${change.note})`].filter(Boolean).join(" ");
}

function paint(text: string, change: FieldChange["change"], theme: Theme): string {
  if (change === "add") return theme.green(text);
  return change === "remove" ? theme.red(text) : theme.yellow(text);
}

/** The answer of a dry run. */
interface GroupPlan {
  readonly plan: readonly PlannedChange[];
  readonly download_bytes: number;
  readonly not_in_request: readonly string[];
}

const GROUP_TITLES: Readonly<Record<PlannedChange["change"], string>> = {
  create: "new",
  update: "changes",
  remove: "removed; its data stays",
  none: "nothing to change",
};

/** The apps of a group by their names, as far as they are known here. */
export interface GroupSpecs {
  readonly old: ReadonlyMap<string, AppDocument>;
  readonly new: ReadonlyMap<string, AppDocument>;
}

/**
 * Renders what an apply does: one title per app, below it one line per field that differs. Of other fields than `image` no
 * values are shown: they may have secrets.
 */
export function renderGroupPlan(
  { plan, download_bytes: bytes, not_in_request: others }: GroupPlan,
  specs: GroupSpecs,
  theme: Theme,
): string {
  const lines = plan.flatMap(({ app, change, fields }) => [
    `${theme.bold(sanitizeLine(app))}: ${paintTitle(GROUP_TITLES[change], change, theme)}`,
    ...fields.map(
      (field) => `  ${theme.yellow(`~ ${sanitizeLine(field)}${field === "image" ? imagesText(app, specs) : ""}`)}`,
    ),
  ]);
  if (others.length > 0) {
    lines.push(`Not in the file, and left as they are: ${others.map(sanitizeLine).join(", ")}  (--prune removes them)`);
  }
  if (bytes > 0) lines.push(`To download: ${formatBytes(bytes)}`);
  return lines.join("\n");
}

function imagesText(app: string, specs: GroupSpecs): string {
  const [before, after] = [specs.old, specs.new].map((all) => all.get(app)?.["image"]);
  if (typeof after !== "string") return "";
  if (before === after) return "  (the same name, another image)";
  const images = [...(typeof before === "string" ? [before] : []), after].map((image) =>
    shortImage(sanitizeLine(image)),
  );
  return `  ${images.length > 1 ? images.join(" -> ") : `-> ${images.join("")}`}`;
}

function paintTitle(title: string, change: PlannedChange["change"], theme: Theme): string {
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
