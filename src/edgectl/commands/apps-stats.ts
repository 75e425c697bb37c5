import type { Command } from "commander";
import { APP_STATS_HELP, renderAppStats } from "../../lib/terminal/app-stats-table.ts";
import { LiveScreen, untilQuit } from "../../lib/terminal/live-screen.ts";
import { isTerminal } from "../../lib/terminal/theme.ts";
import { MAX_STATS_INTERVAL_S, MIN_STATS_INTERVAL_S } from "../../protocol/app-stats.ts";
import { type AppStats, followAppStats, getAppStats } from "../api/app-stats.ts";
import { connect, type Context, createContext } from "../context.ts";
import type { Io } from "../io.ts";
import { ASSET, wholeNumber } from "./options.ts";

interface StatsOptions {
  readonly live?: boolean;
  readonly interval?: number;
}

export function addAppsStats(apps: Command, io: Io): void {
  apps
    .command("stats")
    .description("show what the apps of a device use: processor, memory, network, disk")
    .argument(...ASSET)
    .argument("[app]", "one app only")
    .option("--live", "measure again and again until Ctrl-C; every measurement comes over the device's link")
    .option(
      "--interval <seconds>",
      "with --live: seconds between two measurements (2 if not given)",
      wholeNumber(MIN_STATS_INTERVAL_S, MAX_STATS_INTERVAL_S),
    )
    .addHelpText("after", HELP)
    .action(async (asset: string, app: string | undefined, options: StatsOptions, command: Command) => {
      const context = createContext(io, command);
      if (options.live === true) return await showLive(context, asset, { app, intervalS: options.interval });
      const { printer } = context;
      const stats = await getAppStats(await connect(context), asset, app);
      printer.result(stats, () => render(context, stats, false));
    });
}

async function showLive(
  context: Context,
  asset: string,
  request: { readonly app: string | undefined; readonly intervalS: number | undefined },
): Promise<void> {
  const { io, printer } = context;
  const client = await connect(context);
  if (printer.json || !isTerminal(io.stdout, io.env)) {
    for await (const stats of followAppStats(client, asset, request, { clock: io.clock, signal: io.interrupted })) {
      if (printer.json) printer.jsonLine(stats);
      else printer.line(`${render(context, stats, true)}\n`);
    }
    return;
  }
  using keys = untilQuit(process.stdin);
  const signal = AbortSignal.any([io.interrupted, keys.signal]);
  // Opened with the first measurement, so that an immediate error stays visible.
  let screen: LiveScreen | undefined;
  try {
    for await (const stats of followAppStats(client, asset, request, { clock: io.clock, signal })) {
      screen ??= new LiveScreen(io.stdout, printer.theme.hasColour);
      screen.draw(`${render(context, stats, true)}\n\n${printer.theme.dim("q to quit")}`);
    }
  } catch (error) {
    if (!keys.signal.aborted) throw error;
  } finally {
    screen?.[Symbol.dispose]();
  }
}

function render({ printer }: Context, { apps, omitted_apps: omitted }: AppStats, isLive: boolean): string {
  const table = renderAppStats(apps, { isLive, theme: printer.theme, width: printer.width });
  return omitted > 0 ? `${table}\n${omitted} more apps are left out.` : table;
}

const HELP = `
${APP_STATS_HELP}
A measurement takes a second; nothing is measured unless asked for.

Examples:
  edgectl apps stats GW-0001
  edgectl apps stats GW-0001 node-red --live --interval 10`;
