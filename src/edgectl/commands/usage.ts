import { type Command, Option } from "commander";
import { unixNow } from "../../lib/clock.ts";
import { type SimType, simTypeSchema } from "../../protocol/assets/sim.ts";
import { type Granularity, granularitySchema } from "../../protocol/assets/usage.ts";
import { getDataUsage, getUsage } from "../api/usage.ts";
import { connect, createContext } from "../context.ts";
import type { Io } from "../io.ts";
import { momentText } from "../sims/sim-words.ts";
import { renderDataUsage, renderUsage } from "../views/usage-view.ts";
import { ASSET, timeParser } from "./options.ts";
import { utcDay } from "../../lib/terminal/time.ts";

/** An operator is asked again after a quarter of an hour, unless the service is configured otherwise. */
const MAX_CURRENT_AGE_S = 20 * 60;

interface UsageOptions {
  readonly sim: SimType;
  readonly granularity: Granularity;
  readonly from?: number;
  readonly to?: number;
}

export function addUsage(program: Command, io: Io): void {
  const time = timeParser(io.clock, "Write 2026-11-01, 2026-11-01T12:00 (UTC), 24h or 7d ago, or Unix seconds.");
  program
    .command("usage")
    .description("show how much data a SIM of an asset has used")
    .argument(...ASSET)
    .addOption(
      new Option("--sim <type>", "which of the asset's SIMs").choices(simTypeSchema.options).makeOptionMandatory(),
    )
    .addOption(
      new Option("--granularity <period>", "one total per period").choices(granularitySchema.options).default("all"),
    )
    .option("--from <time>", "from then on; the start of this month if not given", time)
    .option("--to <time>", "up to then; now if not given", time)
    .addHelpText(
      "after",
      "\nTimes are UTC: 2026-11-01, 2026-11-01T12:00, 24h or 7d ago, or Unix seconds.\nUnits are decimal: 1 MB is 1,000,000 bytes.",
    )
    .action(async (asset: string, options: UsageOptions, command: Command) => {
      const context = createContext(io, command);
      const { printer } = context;
      const { sim, granularity, from, to } = options;
      const usage = await getUsage(await connect(context), asset, sim, { granularity, start_time: from, end_time: to });
      printer.result(usage, () => renderUsage(usage, granularity, printer.theme, printer.width));
      const now = unixNow(io.clock);
      if (usage.as_of !== undefined && now - usage.as_of > MAX_CURRENT_AGE_S && !printer.json)
        printer.note(`This is what the SIM operator said ${momentText(usage.as_of, now)}.`);
    });
}

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
