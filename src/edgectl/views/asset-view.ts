import type { Asset, EnrolmentCode, Tags, Variables } from "../api/assets.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { type Column, renderFields, renderTable } from "../../lib/terminal/table.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import { formatTime } from "../../lib/terminal/time.ts";
import { pendingText } from "../sims/sim-words.ts";

export function renderAssets(assets: readonly Asset[], theme: Theme, width: number | undefined): string {
  if (assets.length === 0) return "No assets.";
  const columns: Column<Asset>[] = [
    { header: "SERIAL NUMBER", cell: (asset) => sanitizeLine(asset.serial_number), canShrink: true },
    { header: "NAME", cell: (asset) => sanitizeLine(asset.name), canShrink: true },
    { header: "TYPE", cell: (asset) => sanitizeLine(asset.type), canShrink: true },
    {
      header: "SIM STATUS",
      cell: (asset) => sanitizeLine(asset.status),
      paint: (text, asset) => paintStatus(text, asset.status, theme),
    },
    { header: "SIMS", cell: simsOf },
    { header: "DEVICE", cell: deviceOf },
    { header: "AGENT", cell: ({ agent_version: version }) => sanitizeLine(version ?? "-") },
    {
      header: "ATTENTION",
      cell: (asset) => asset.attention?.map(sanitizeLine).join(", ") || "-",
      paint: (text, asset) => (asset.attention?.length ? theme.yellow(text) : text),
      canShrink: true,
    },
  ];
  return renderTable(columns, assets, theme, width);
}

/** An asset of a file that was to be registered. */
interface NewAssetRow {
  readonly serial_number: string;
  readonly created: boolean;
  readonly code?: string;
  readonly problem?: string | undefined;
}

/** @param isDryRun whether nothing was changed */
export function renderNewAssets(
  rows: readonly NewAssetRow[],
  isDryRun: boolean,
  theme: Theme,
  width: number | undefined,
): string {
  const done = isDryRun ? "can be created" : "created";
  const columns: Column<NewAssetRow>[] = [
    { header: "SERIAL NUMBER", cell: ({ serial_number }) => sanitizeLine(serial_number) },
    {
      header: "RESULT",
      cell: ({ created, code, problem }) => {
        const why =
          problem === undefined
            ? ""
            : `: ${sanitizeLine(problem)}${code === undefined ? "" : ` (${sanitizeLine(code)})`}`;
        return `${created ? done : "not created"}${why}`;
      },
      paint: (text, { problem }) => (problem === undefined ? text : theme.yellow(text)),
    },
  ];
  const created = rows.filter((row) => row.created).length;
  const summary = [`${created} ${done}`, ...(created < rows.length ? [`${rows.length - created} not`] : [])].join(", ");
  return `${renderTable(columns, rows, theme, width)}\n\n${summary}.`;
}

export function renderCodes(codes: readonly EnrolmentCode[], theme: Theme, width: number | undefined): string {
  const columns: Column<EnrolmentCode>[] = [
    { header: "SERIAL NUMBER", cell: ({ serial_number }) => sanitizeLine(serial_number) },
    { header: "CODE", cell: ({ code }) => sanitizeLine(code) },
    { header: "VALID UNTIL", cell: ({ expires_at }) => `${formatTime(expires_at)} UTC` },
  ];
  return renderTable(columns, codes, theme, width);
}

/** @param now Unix seconds */
export function renderAsset(asset: Asset, now: number, theme: Theme): string {
  const { supersim, prosim } = asset;
  const fields: [string, string][] = [
    ["Serial number", asset.serial_number],
    ["Name", asset.name],
    ["Type", asset.type],
    ["Status", asset.status],
    ["Device", deviceOf(asset)],
    ["Agent", asset.agent_version ?? "-"],
    ["Accepted", acceptedOf(asset)],
    ["Attention", asset.attention?.join(", ") || "-"],
    ...cloneFields(asset),
    ["UUID", asset.uuid],
    ["Created", `${formatTime(asset.created_at)} UTC`],
  ];
  if (supersim) {
    fields.push(["Super SIM", supersim.sid], ["  ICCID", supersim.iccid], ["  Network group", supersim.network_group]);
    if (supersim.pending) fields.push(["  Pending", pendingText(supersim.pending, now)]);
  }
  if (prosim) {
    fields.push(["PRO SIM", prosim.imsi], ["  ICCID", prosim.iccid], ["  Service profile", prosim.service_profile]);
    if (prosim.pending) fields.push(["  Pending", pendingText(prosim.pending, now)]);
  }
  const safe = fields.map(([name, value]): [string, string] => {
    const text = sanitizeLine(value);
    return [name, name === "Status" ? paintStatus(text, value, theme) : text];
  });
  return renderFields(safe, theme);
}

function deviceOf({ connected, last_seen: lastSeen }: Asset): string {
  if (connected === true) return "connected";
  if (typeof lastSeen === "number") return `away since ${formatTime(lastSeen)}`;
  return lastSeen === null ? "never connected" : "-";
}

/** The two devices that have the token of the asset. */
function cloneFields({ clone }: Asset): [string, string][] {
  const names = ["  Served", "  Kept away"];
  return (clone?.devices ?? []).map(({ boot_id: boot, address, since }, index) => [
    names[index] ?? "  Another",
    `${address || "unknown address"}, boot ${boot}, first seen ${formatTime(since)} UTC`,
  ]);
}

function acceptedOf({ accepted_at: at }: Asset): string {
  if (typeof at === "number") return `${formatTime(at)} UTC`;
  return at === null ? "no: fleets do not reach it until it is accepted" : "-";
}

function simsOf(asset: Asset): string {
  return [asset.supersim && "super", asset.prosim && "pro"].filter(Boolean).join(", ") || "-";
}

function paintStatus(text: string, status: string, theme: Theme): string {
  return status === "active" ? theme.green(text) : theme.dim(text);
}

export function renderTags(tags: Tags, theme: Theme): string {
  const fields = Object.entries(tags).map(([key, value]): [string, string] => [sanitizeLine(key), sanitizeLine(value)]);
  return fields.length === 0 ? "No tags." : renderFields(fields, theme);
}

/** @param isRevealed whether the values that are not secret were asked for */
export function renderVariables(
  variables: Variables,
  isRevealed: boolean,
  theme: Theme,
  width: number | undefined,
): string {
  const rows = Object.entries(variables);
  if (rows.length === 0) return "No variables.";
  const columns: Column<(typeof rows)[number]>[] = [
    { header: "NAME", cell: ([name]) => sanitizeLine(name) },
    { header: "SECRET", cell: ([, { secret }]) => (secret ? "yes" : "no") },
    ...(isRevealed
      ? [
          {
            header: "VALUE",
            cell: ([, { value }]: (typeof rows)[number]) => sanitizeLine(value ?? "***"),
            canShrink: true as const,
          },
        ]
      : []),
  ];
  return renderTable(columns, rows, theme, width);
}
