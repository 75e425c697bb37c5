import { formatDuration, formatMinute, formatTime } from "../../lib/terminal/time.ts";
import type { App, AppDetail, AppList } from "../api/apps.ts";
import type { Io } from "../io.ts";
import type { Printer } from "../printer.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { shortImage } from "../../lib/terminal/short-image.ts";
import { type Column, renderFields, renderTable } from "../../lib/terminal/table.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import { shownState } from "../../protocol/apps/shown-state.ts";
import { formatPort, specFields } from "./spec-fields.ts";

/** A current report may be this old by rounding and by the time of the request, in seconds. */
const MAX_CURRENT_AGE_S = 5;

/** Prints a result that comes from the device, and a note if it is not current. */
export function printDeviceResult(
  { io, printer }: { readonly io: Pick<Io, "clock">; readonly printer: Printer },
  result: Pick<AppList, "reported_at" | "reachable"> & Partial<Pick<AppList, "age_s">>,
  render: () => string,
): void {
  printer.result(result, render);
  const { reported_at: at, reachable, age_s: ageS } = result;
  if (printer.json) return;
  if (reachable) {
    if ((ageS ?? 0) <= MAX_CURRENT_AGE_S) return;
    const age = formatDuration(ageS ?? 0);
    return printer.note(`The device has not reported its latest changes yet. This may be out of date for ${age}.`);
  }
  if (at === null) return printer.note("The device is not reachable, and has never reported.");
  const age = formatDuration(io.clock.now() / 1000 - at);
  printer.note(`The device is not reachable. This is what it reported ${age} ago, at ${formatTime(at)} UTC.`);
}

export function renderApps(apps: readonly App[], theme: Theme, width: number | undefined): string {
  if (apps.length === 0) return "No apps.";
  const columns: Column<App>[] = [
    { header: "APP", cell: (app) => sanitizeLine(app.name), canShrink: true },
    {
      header: "STATE",
      cell: (app) => sanitizeLine(shownState(app)),
      paint: (text, app) => paintState(text, shownState(app), theme),
    },
    { header: "PORTS", cell: portsOf, canShrink: true },
    { header: "RESTARTS", cell: (app) => String(app.restarts ?? "-"), align: "right" },
    { header: "SINCE (UTC)", cell: (app) => (app.since ? formatMinute(app.since) : "-") },
    { header: "IMAGE", cell: (app) => shortImage(sanitizeLine(app.image)), canShrink: true },
  ];
  return renderTable(columns, apps, theme, width);
}

export function renderApp(app: AppDetail, theme: Theme): string {
  const shown = shownState(app);
  const state = paintState(sanitizeLine(shown), shown, theme);
  const desired = app.desired_state === "stopped" ? " (it was told to stop)" : "";
  const fields: [string, string][] = [
    ["App", sanitizeLine(app.name)],
    ["State", state + desired],
    ["Image", sanitizeLine(app.image)],
  ];
  if (app.image_digest) fields.push(["Digest", sanitizeLine(app.image_digest)]);
  if (app.paused !== undefined) fields.push(["Not repaired", theme.red(sanitizeLine(app.paused))]);
  if (app.changed) fields.push(["Changed", theme.red(changeText(app.changed))]);
  if (app.since) fields.push(["Since", `${formatTime(app.since)} UTC`]);
  if (typeof app.restarts === "number") fields.push(["Restarts", String(app.restarts)]);
  if (app.ports.length > 0) fields.push(["Ports", portsOf(app)]);
  if (app.reached_as && app.reached_as.length > 0)
    fields.push(["Reached by others as", app.reached_as.map(sanitizeLine).join(", ")]);
  fields.push(...specFields(app.spec));
  const last = app.last_deployment;
  if (last) {
    const what = [last.action ?? "deploy", last.status].map(sanitizeLine).join(": ");
    fields.push(["Last deployment", `${sanitizeLine(last.deployment_id)} (${what})`]);
  }
  return renderFields(fields, theme);
}

const CHANGED_BY: Readonly<Record<string, string>> = {
  local: "by a command on the device",
  api: "by a request",
  foreign: "by another tool, which replaced its container",
};

function changeText({ by, what = [], since }: NonNullable<App["changed"]>): string {
  const parts = [what.join(", "), by === undefined ? "" : (CHANGED_BY[by] ?? `by ${by}`)].filter((part) => part !== "");
  return sanitizeLine([...parts, ...(since === undefined ? [] : [`${formatTime(since)} UTC`])].join(", "));
}

function portsOf({ ports }: App): string {
  return ports.map(formatPort).join(", ") || "-";
}

function paintState(text: string, state: string, theme: Theme): string {
  if (state === "running" || state === "finished") return theme.green(text);
  return state === "stopped" ? theme.dim(text) : theme.red(text);
}
