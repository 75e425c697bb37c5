import { formatBytes } from "../../lib/terminal/bytes.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { shortImage } from "../../lib/terminal/short-image.ts";
import { renderFields, renderTable } from "../../lib/terminal/table.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import { formatDuration } from "../../lib/terminal/time.ts";
import type { AppSummary, DeviceStatus, LinkResponse, Status, DataUsed } from "../local/api.ts";

/** A shorter interval is that of a network that drops idle connections early. */
const USUAL_KEEPALIVE_S = 60;

type Field = readonly [name: string, value: string];

/** Formats link, engine, disk, data and agent, one per line. @param releases notes on the versions of this device */
export function renderStatus(status: Status, theme: Theme, releases: readonly string[] = []): string {
  const { agent, link, device, data, held } = status;
  const memory = formatBytes(agent.memory_bytes);
  const fields: Field[] = [
    ["Link", renderLink(link, theme)],
    ...deviceFields(device, theme),
    ...(data ? [["Data used", renderDataUsed(data, theme)] as const] : []),
    ...(held.length > 0 ? [["Pauses", inRed(held, theme)] as const] : []),
    ["Agent", `${sanitizeLine(agent.version)}, up ${formatDuration(agent.uptime_s)}, ${memory} of memory`],
    ...(releases.length > 0 ? [["Releases", releases.map(sanitizeLine).join("\n")] as const] : []),
  ];
  return renderFields(fields, theme);
}

function inRed(texts: readonly string[], theme: Theme): string {
  return texts.map((text) => theme.red(sanitizeLine(text))).join("\n");
}

/** Formats the part of the status that is available without the daemon. */
export function renderDevice(device: DeviceStatus, theme: Theme): string {
  return renderFields(deviceFields(device, theme), theme);
}

function deviceFields({ engine, disk }: DeviceStatus, theme: Theme): Field[] {
  const text = engine.ok ? sanitizeLine(`${engine.kind} ${engine.version}`) : theme.red("does not answer");
  return [
    ["Engine", text],
    ["Disk", disk ? renderDisk(disk, theme) : "unknown"],
  ];
}

function renderDisk(disk: NonNullable<DeviceStatus["disk"]>, theme: Theme): string {
  const text = sanitizeLine(`${formatBytes(disk.free_bytes)} free at ${disk.path}`);
  return disk.free_bytes < disk.reserve_bytes
    ? theme.red(`${text}, less than the reserve of ${formatBytes(disk.reserve_bytes)}`)
    : text;
}

/** Formats the state of the link, and the control plane in a second line. */
export function renderLink(link: LinkResponse, theme: Theme): string {
  const duration = formatDuration(link.for_s);
  const who = link.asset ? `, as ${link.asset.serial_number}${link.asset.name ? ` (${link.asset.name})` : ""}` : "";
  const target = theme.dim(sanitizeLine(link.control_plane));
  switch (link.state) {
    case "online": {
      const { keepalive_s: keepalive } = link;
      const isShort = keepalive !== null && keepalive < USUAL_KEEPALIVE_S;
      const why = isShort ? `\nkept by a probe after each ${keepalive} s of silence` : "";
      return `${theme.green("online")} for ${duration}${sanitizeLine(who)}\n${target}${why}`;
    }
    case "connecting":
      return `${theme.yellow("connecting")} for ${duration}\n${target}`;
    case "stopped":
      return `${theme.red("stopped")}\n${target}`;
    case "waiting": {
      const next = link.next_try_in_s === null ? "" : `; next try in ${formatDuration(link.next_try_in_s)}`;
      return `${theme.red("offline")} for ${duration}${next}\n${target}`;
    }
  }
}

/** Formats the installed apps as a table. @param width columns of the terminal; `undefined` to cut nothing */
export function renderApps(apps: readonly AppSummary[], theme: Theme, width: number | undefined): string {
  if (apps.length === 0) return "No apps on this device.";
  return renderTable<AppSummary>(
    [
      { header: "APP", cell: ({ name }) => sanitizeLine(name), canShrink: true },
      {
        header: "STATE",
        cell: ({ state }) => sanitizeLine(state),
        paint: (text, { trouble }) => (trouble === null ? theme.green(text) : theme.red(text)),
      },
      { header: "PORTS", cell: portsOf, canShrink: true },
      { header: "RESTARTS", cell: ({ restarts }) => (restarts === null ? "-" : String(restarts)), align: "right" },
      { header: "SINCE (UTC)", cell: ({ started_at }) => shortTime(started_at) },
      { header: "IMAGE", cell: ({ image }) => shortImage(sanitizeLine(image)), canShrink: true },
    ],
    apps,
    theme,
    width,
  );
}

function portsOf({ ports, host_network }: AppSummary): string {
  if (host_network) return "host network";
  return portsText(ports) || "-";
}

/** Returns ports with the addresses that they are reachable at, as compose has them. */
export function portsText(ports: AppSummary["ports"]): string {
  return ports
    .map(({ host_port, target_port, protocol = "tcp", host_address: address }) => {
      const at = address === undefined ? "" : `${address.includes(":") ? `[${address}]` : address}:`;
      return `${at}${host_port}:${target_port}${protocol === "tcp" ? "" : `/${protocol}`}`;
    })
    .join(" ");
}

/** Formats an engine's time to the minute. Engines write year 1 for "never". */
export function shortTime(time: string | null): string {
  if (time === null || !/^(?!0001)\d{4}-\d\d-\d\dT\d\d:\d\d/.test(time)) return "-";
  return time.slice(0, 16).replace("T", " ");
}

/** Formats the bytes the agent itself used, by purpose, and the budgets. */
function renderDataUsed(data: DataUsed, theme: Theme): string {
  const { today_bytes: today, month_bytes: month, by_purpose: purposes, overhead_bytes: overhead, budget } = data;
  const parts = Object.entries(purposes).filter(([, bytes]) => bytes > 0);
  const what = parts
    .toSorted(([, one], [, other]) => other - one)
    .map(([name, bytes]) => `${name} ${formatBytes(bytes)}`);
  if (overhead > 0) what.push(`overhead ~${formatBytes(overhead)}`);
  const lines = [
    `${formatBytes(today)} today, ${formatBytes(month)} this month${what.length > 0 ? `: ${what.join(", ")}` : ""}`,
  ];
  const limits = [
    limit("day", budget?.used_today_bytes ?? 0, budget?.daily_bytes ?? null, theme),
    limit("month", budget?.used_this_month_bytes ?? 0, budget?.monthly_bytes ?? null, theme),
  ].flat();
  if (limits.length > 0) lines.push(limits.join(", "));
  return lines.join("\n");
}

function limit(period: string, used: number, bound: number | null, theme: Theme): string[] {
  if (bound === null) return [];
  const text = `${formatBytes(used)} of the ${formatBytes(bound)} for the ${period}`;
  return [used >= bound ? theme.red(`${text}: downloads wait`) : text];
}
