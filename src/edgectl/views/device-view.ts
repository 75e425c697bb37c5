import type { Device, DeviceInterface, DeviceResponse, Volume, VolumeList } from "../api/device.ts";
import { formatBytes, formatBytesOrDash } from "../../lib/terminal/bytes.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { shortImage } from "../../lib/terminal/short-image.ts";
import { type Column, renderFields, renderTable } from "../../lib/terminal/table.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import { formatDuration, formatMinute, formatTime } from "../../lib/terminal/time.ts";

export function renderDevice(response: DeviceResponse, theme: Theme, width: number | undefined): string {
  const { device, reachable, last_seen } = response;
  const link = reachable ? theme.green("online") : theme.red("not reachable");
  const seen = last_seen ? `, last seen ${formatTime(last_seen)} UTC` : "";
  const fields: [string, string][] = [["Link", link + (reachable ? "" : seen)]];
  if (!device) return renderFields(fields, theme);
  fields.push(...factFields(device));
  const parts = [renderFields(fields, theme)];
  if (device.interfaces.length > 0) parts.push(renderInterfaces(device.interfaces, theme, width));
  if (device.containers.length > 0) parts.push(renderContainers(device, theme, width));
  return parts.join("\n\n");
}

function factFields(device: Device): [string, string][] {
  const { engine } = device;
  const rows: [string, string | null | undefined][] = [
    ["Agent", [device.agent_version, upFor(device.agent_uptime_s)].filter(Boolean).join(", ")],
    ["Engine", engine && `${engine.kind} ${engine.version}`],
    ["System", [device.os, device.kernel, device.architecture].filter(Boolean).join(", ")],
    ["Hardware", [device.model, device.cpus && `${device.cpus} processors`].filter(Boolean).join(", ")],
    ["Host name", device.hostname],
    ["Up for", device.uptime_s == null ? null : formatDuration(device.uptime_s)],
    ["Processors", device.cpu_percent == null ? null : `${device.cpu_percent.toFixed(0)} % busy`],
    ["Memory", ofTotal(device.memory_available_bytes, device.memory_total_bytes)],
    ["Disk", ofTotal(device.disk_free_bytes, device.disk_total_bytes)],
    ["Temperature", device.temperature_celsius == null ? null : `${device.temperature_celsius.toFixed(0)} °C`],
  ];
  return rows.flatMap(([name, value]): [string, string][] => (value ? [[name, sanitizeLine(value)]] : []));
}

function renderInterfaces(interfaces: readonly DeviceInterface[], theme: Theme, width: number | undefined): string {
  return renderTable<DeviceInterface>(
    [
      { header: "INTERFACE", cell: ({ name }) => sanitizeLine(name) },
      { header: "KIND", cell: ({ kind }) => sanitizeLine(kind ?? "-") },
      { header: "STATE", cell: ({ is_up }) => (is_up ? "up" : "down") },
      { header: "RECEIVED", cell: (entry) => formatBytesOrDash(entry.received_bytes), align: "right" },
      { header: "SENT", cell: (entry) => formatBytesOrDash(entry.sent_bytes), align: "right" },
      { header: "ADDRESSES", cell: ({ addresses }) => sanitizeLine(addresses.join(", ")), canShrink: true },
    ],
    interfaces,
    theme,
    width,
  );
}

function renderContainers(device: Device, theme: Theme, width: number | undefined): string {
  return renderTable(
    [
      { header: "CONTAINER", cell: ({ name }) => sanitizeLine(name), canShrink: true },
      { header: "APP", cell: ({ app }) => sanitizeLine(app ?? "-"), canShrink: true },
      { header: "STATUS", cell: ({ status }) => sanitizeLine(status) },
      { header: "IMAGE", cell: ({ image }) => shortImage(sanitizeLine(image)), canShrink: true },
    ],
    device.containers,
    theme,
    width,
  );
}

function upFor(seconds: number | null | undefined): string | undefined {
  return seconds == null ? undefined : `up ${formatDuration(seconds)}`;
}

function ofTotal(free: number | null | undefined, total: number | null | undefined): string | null {
  if (total == null) return free == null ? null : `${formatBytes(free)} free`;
  return free == null ? formatBytes(total) : `${formatBytes(free)} free of ${formatBytes(total)}`;
}

/** @param hasSizes whether the device was asked to measure them */
export function renderVolumes(list: VolumeList, hasSizes: boolean, theme: Theme, width: number | undefined): string {
  if (list.volumes.length === 0) return "No volumes.";
  const sizes: Column<Volume> = { header: "SIZE", cell: sizeOf, align: "right" };
  const columns: Column<Volume>[] = [
    { header: "VOLUME", cell: ({ name }) => sanitizeLine(name), canShrink: true },
    { header: "APPS", cell: appsOf, canShrink: true },
    ...(hasSizes ? [sizes] : []),
    { header: "CREATED (UTC)", cell: ({ created_at }) => (created_at ? formatMinute(created_at) : "-") },
  ];
  const table = renderTable(columns, list.volumes, theme, width);
  return list.left_out > 0 ? `${table}\nand ${list.left_out} more` : table;
}

function sizeOf({ size_bytes: size }: Volume): string {
  return typeof size === "number" ? formatBytes(size) : "-";
}

function appsOf({ apps, apps_left_out: more }: Volume): string {
  const names = apps.map(({ app, readonly }) => `${sanitizeLine(app)}${readonly ? " (read-only)" : ""}`);
  return [...names, ...(more > 0 ? [`and ${more} more`] : [])].join(", ") || "-";
}
