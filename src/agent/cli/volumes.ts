import type { Command } from "commander";
import { formatBytes } from "../../lib/terminal/bytes.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { type Column, renderTable } from "../../lib/terminal/table.ts";
import type { VolumesResponse } from "../local/api.ts";
import { type Register, withCommonOptions } from "./context.ts";
import { EXIT } from "./exit-code.ts";
import type { AgentPrinter } from "./printer.ts";

type Volume = VolumesResponse["volumes"][number];

const HELP = `
A volume stays when the app that has it is removed. \`edgectl volumes remove\` deletes it.`;

export function addVolumes(program: Command, register: Register): void {
  const command = program
    .command("volumes")
    .description("list the volumes that the agent manages, and the apps that have them")
    .option("--size", "measure them, for which the engine reads all their directories");
  register(withCommonOptions(command).addHelpText("after", HELP), async ({ client, printer, io }, _, options) => {
    const hasSizes = options["size"] === true;
    const path = hasSizes ? "/volumes?size" : "/volumes";
    const list = await client.request("GET", path, "volumes", { signal: io.interrupted });
    if (printer.json) printer.document(list);
    else print(printer, list, hasSizes);
    return EXIT.ok;
  });
}

function print(printer: AgentPrinter, { volumes, left_out: more }: VolumesResponse, hasSizes: boolean): void {
  if (volumes.length === 0) return printer.line("No volumes.");
  const sizes: Column<Volume> = { header: "SIZE", cell: sizeOf, align: "right" };
  const columns: Column<Volume>[] = [
    { header: "VOLUME", cell: ({ name }) => sanitizeLine(name), canShrink: true },
    { header: "APPS", cell: appsOf, canShrink: true },
    ...(hasSizes ? [sizes] : []),
  ];
  printer.line(renderTable(columns, volumes, printer.theme, printer.width));
  if (more > 0) printer.line(`and ${more} more`);
}

function sizeOf({ size_bytes: size }: Volume): string {
  return size === null ? "-" : formatBytes(size);
}

function appsOf({ apps, apps_left_out: more }: Volume): string {
  const names = apps.map(({ app, readonly }) => `${sanitizeLine(app)}${readonly ? " (read-only)" : ""}`);
  return [...names, ...(more > 0 ? [`and ${more} more`] : [])].join(", ") || "-";
}
