import { type Command, InvalidArgumentError, Option } from "commander";
import { APP_STATS_HELP, renderAppStats } from "../../lib/terminal/app-stats-table.ts";
import { drawEach } from "../../lib/terminal/live-screen.ts";
import { isTerminal } from "../../lib/terminal/theme.ts";
import { type AppStats, MAX_STATS_INTERVAL_S, MIN_STATS_INTERVAL_S } from "../../protocol/apps/app-stats.ts";
import { type Context, type Register, withCommonOptions } from "./context.ts";
import { EXIT } from "./exit-code.ts";

const HELP = `
${APP_STATS_HELP}
A measurement takes a second; nothing is measured unless asked for. With the
machine's load and the link: edge-agent top.

Examples:
  edge-agent stats
  edge-agent stats node-red --live --interval 10`;

export function addStats(program: Command, register: Register): void {
  const command = program
    .command("stats [app]")
    .description("show what the apps use: processor, memory, network, disk")
    .option("--live", "measure again and again, until Ctrl-C")
    .addOption(
      new Option("--interval <seconds>", "with --live: seconds between two measurements (2 if not given)").argParser(
        parseInterval,
      ),
    );
  register(withCommonOptions(command).addHelpText("after", HELP), async (context, app, options) => {
    const isLive = options["live"] === true;
    const interval = options["interval"];
    const query = new URLSearchParams({
      ...(app !== undefined && { app }),
      ...(isLive && { follow: "" }),
      ...(typeof interval === "number" && { interval_s: String(interval) }),
    });
    await (isLive && !context.printer.json && isTerminal(context.io.stdout, context.io.env)
      ? showOnScreen(context, query)
      : showInOrder(context, query, isLive));
    return EXIT.ok;
  });
}

function fetchStats({ client }: Context, query: URLSearchParams, signal: AbortSignal): AsyncGenerator<AppStats> {
  return client.stream("GET", `/stats?${query.toString()}`, "appStats", { signal });
}

async function showInOrder(context: Context, query: URLSearchParams, isLive: boolean): Promise<void> {
  const { printer, io } = context;
  for await (const stats of fetchStats(context, query, io.interrupted)) {
    if (printer.json && isLive) printer.jsonLine(stats);
    else if (printer.json) printer.document(stats);
    else printer.line(`${render(context, stats, isLive)}${isLive ? "\n" : ""}`);
  }
}

async function showOnScreen(context: Context, query: URLSearchParams): Promise<void> {
  const { printer, io } = context;
  await drawEach(
    { ...io, theme: printer.theme },
    (signal) => fetchStats(context, query, signal),
    (stats) => render(context, stats, true),
  );
}

function render({ printer }: Context, stats: AppStats, isLive: boolean): string {
  return renderAppStats(stats, { isLive, theme: printer.theme, width: printer.width });
}

function parseInterval(text: string): number {
  const value = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= MIN_STATS_INTERVAL_S && value <= MAX_STATS_INTERVAL_S) return value;
  throw new InvalidArgumentError(`It must be a whole number from ${MIN_STATS_INTERVAL_S} to ${MAX_STATS_INTERVAL_S}.`);
}
