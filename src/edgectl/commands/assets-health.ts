import { type Command, Option } from "commander";
import { getHealth } from "../api/history.ts";
import { connect, createContext } from "../context.ts";
import type { Io } from "../io.ts";
import { renderHealth } from "../views/health-view.ts";
import { ASSET, timeParser, wholeNumber } from "./options.ts";

/** A table of so many rows fits on a screen. 48 hours that begin within a step of two hours touch one more than 24. */
const DEFAULT_POINTS = 25;
const MAX_POINTS = 200;

interface HealthOptions {
  readonly from?: number;
  readonly to?: number;
  readonly points: number;
  readonly source?: string;
  readonly apps?: boolean;
}

export function addAssetsHealth(assets: Command, io: Io): void {
  const time = timeParser(io.clock, "Write 2026-11-01, 2026-11-01T12:00 (UTC), 24h or 7d ago, or Unix seconds.");
  assets
    .command("health")
    .description("show how the device of an asset was: processors, memory, disk, temperature")
    .argument(...ASSET)
    .option("--from <time>", "from then on; 48 hours before the end if not given", time)
    .option("--to <time>", "up to then; now if not given", time)
    .option("--points <n>", "at most so many rows", wholeNumber(1, MAX_POINTS), DEFAULT_POINTS)
    .addOption(
      new Option("--source <who>", "ask the device, or the service alone; without it, the one that has it").choices([
        "device",
        "service",
      ]),
    )
    .option("--apps", "also what each app used")
    .addHelpText("after", "\nTimes are UTC: 2026-11-01, 2026-11-01T12:00, 24h or 7d ago, or Unix seconds.")
    .action(async (asset: string, options: HealthOptions, command: Command) => {
      const context = createContext(io, command);
      const { printer } = context;
      const health = await getHealth(await connect(context), asset, options);
      printer.result(health, () => renderHealth(health, printer.theme, printer.width));
    });
}
