import type { Command } from "commander";
import { utcDay } from "../../lib/terminal/time.ts";
import { getDataUsage } from "../api/data-usage.ts";
import { connect, createContext } from "../context.ts";
import type { Io } from "../io.ts";
import { renderDataUsage } from "../views/data-usage-view.ts";
import { ASSET, timeParser } from "./options.ts";

interface DataUsageOptions {
  readonly from?: string;
  readonly to?: string;
}

export function addDataUsage(program: Command, io: Io): void {
  const time = timeParser(io.clock, "Write a day such as 2026-11-01 (UTC), or 7d ago.");
  const day = (text: string): string => utcDay(time(text));
  program
    .command("data-usage")
    .description("show what the device moved day by day: the agent by purpose, all of it, and the SIM's own records")
    .argument(...ASSET)
    .option("--from <day>", "first day; the first of this month if not given", day)
    .option("--to <day>", "last day, included; today if not given", day)
    .addHelpText("after", "\nDays are UTC: 2026-11-01, or 7d ago. Units are decimal: 1 MB is 1,000,000 bytes.")
    .action(async (asset: string, { from, to }: DataUsageOptions, command: Command) => {
      const context = createContext(io, command);
      const { printer } = context;
      const usage = await getDataUsage(await connect(context), asset, { from, to });
      printer.result(usage, () => renderDataUsage(usage, printer.theme, printer.width));
      if (!usage.live && !printer.json) {
        printer.note("The device could not be asked; its own counts are those it sent last.");
      }
    });
}
