import { type Command, InvalidArgumentError } from "commander";
import { parseTime } from "../../lib/terminal/time.ts";
import { getDataUsage } from "../api/data-usage.ts";
import { connect, createContext } from "../context.ts";
import type { Io } from "../io.ts";
import { renderDataUsage } from "../views/data-usage-view.ts";
import { ASSET } from "./options.ts";

interface DataUsageOptions {
  readonly from?: string;
  readonly to?: string;
}

export function addDataUsage(program: Command, io: Io): void {
  const day = (text: string): string => {
    const time = parseTime(text, io.clock.now());
    if (time === undefined) throw new InvalidArgumentError("Write a day such as 2026-11-01 (UTC), or 7d ago.");
    return new Date(time * 1000).toISOString().slice(0, 10);
  };
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
