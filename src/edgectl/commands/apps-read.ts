import { type Command, Option } from "commander";
import {
  type AppStats,
  followAppStats,
  getApp,
  getAppStats,
  listApps,
  type LogEntry,
  readAppLogs,
} from "../api/apps.ts";
import { connect, type Context, createContext } from "../context.ts";
import type { Io } from "../io.ts";
import { printDeviceResult, renderApp, renderApps } from "../views/app-view.ts";
import { APP, ASSET, timeParser, wholeNumber } from "./options.ts";
import { MAX_LOG_TAIL_LINES } from "../../protocol/apps/app-log.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import type { Printer } from "../printer.ts";
import { APP_STATS_HELP, renderAppStats } from "../../lib/terminal/app-stats-table.ts";
import { drawEach } from "../../lib/terminal/live-screen.ts";
import { isTerminal } from "../../lib/terminal/theme.ts";
import { MAX_STATS_INTERVAL_S, MIN_STATS_INTERVAL_S } from "../../protocol/apps/app-stats.ts";

export function addAppsList(apps: Command, io: Io): void {
  apps
    .command("list")
    .description("list the apps of a device and how they are")
    .argument(...ASSET)
    .action(async (asset: string, _options: unknown, command: Command) => {
      const context = createContext(io, command);
      const { printer } = context;
      const list = await listApps(await connect(context), asset);
      printDeviceResult(context, list, () => renderApps(list.apps, printer.theme, printer.width));
    });
}

export function addAppsShow(apps: Command, io: Io): void {
  apps
    .command("show")
    .description("show one app: how it is, and what it was deployed with")
    .argument(...ASSET)
    .argument(...APP)
    .option("--reveal", "ask the device for the values of its variables, which are masked otherwise")
    .action(async (asset: string, name: string, { reveal = false }: { reveal?: boolean }, command: Command) => {
      const context = createContext(io, command);
      const app = await getApp(await connect(context), asset, name, reveal);
      printDeviceResult(context, app, () => renderApp(app, context.printer.theme));
    });
}

interface LogsOptions {
  readonly tail?: number;
  readonly lines?: number;
  readonly since?: number;
  readonly follow?: boolean;
  readonly previous?: boolean;
  readonly timestamps?: boolean;
}

export function addAppsLogs(apps: Command, io: Io): void {
  const time = timeParser(io.clock, "Write 2026-11-01T12:00 (UTC), 10m, 24h or 7d ago, or Unix seconds.");
  apps
    .command("logs")
    .description("show what an app wrote; every line comes over the device's link")
    .argument(...ASSET)
    .argument(...APP)
    .option("-n, --tail <n>", "the last lines (200 if not given)", wholeNumber(0, MAX_LOG_TAIL_LINES))
    .addOption(new Option("--lines <n>", "the same as --tail").argParser(wholeNumber(0, MAX_LOG_TAIL_LINES)).hideHelp())
    .option("--since <time>", "only what was written since then", time)
    .option("-f, --follow", "go on until Ctrl-C")
    .addOption(
      new Option("-p, --previous", "what it wrote before its present run: earlier runs, the version before").conflicts(
        "follow",
      ),
    )
    .option("-t, --timestamps", "when each line was written, by the device's clock")
    .addHelpText("after", LOGS_HELP)
    .action(async (asset: string, name: string, options: LogsOptions, command: Command) => {
      const context = createContext(io, command);
      const { printer } = context;
      const client = await connect(context);
      const { lines, tail = lines, since, follow = false, previous = false } = options;
      let isEmpty = true;
      const signals = { clock: io.clock, signal: io.interrupted };
      for await (const entry of readAppLogs(client, asset, name, { tail, since, follow, previous }, signals)) {
        isEmpty = false;
        show(entry, printer, io, options.timestamps === true);
      }
      if (previous && isEmpty) printer.note(`Nothing is left of what ${name} wrote before its present run.`);
    });
}

function show(entry: LogEntry, printer: Printer, io: Io, timestamps: boolean): void {
  if (printer.json) return printer.jsonLine(entry);
  if ("omitted_lines" in entry) {
    return printer.note(`${String(entry.omitted_lines)} lines were left out here, to spare the device's link.`);
  }
  const line = `${timestamps ? `${sanitizeLine(entry.time)} ` : ""}${sanitizeLine(entry.text)}`;
  if (entry.stream === "stderr") io.stderr.write(`${line}\n`);
  else printer.line(line);
}

const LOGS_HELP = `
What the app wrote to its standard error goes to standard error. What is too
much for the device's link is left out, and counted.

Examples:
  edgectl apps logs GW-0001 web --tail 50
  edgectl apps logs GW-0001 web --since 10m --timestamps
  edgectl apps logs GW-0001 web -f
  edgectl apps logs GW-0001 web --previous`;

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
    .addHelpText("after", STATS_HELP)
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
  await drawEach(
    { ...io, theme: printer.theme },
    (signal) => followAppStats(client, asset, request, { clock: io.clock, signal }),
    (stats) => render(context, stats, true),
  );
}

function render({ printer }: Context, stats: AppStats, isLive: boolean): string {
  return renderAppStats(stats, { isLive, theme: printer.theme, width: printer.width });
}

const STATS_HELP = `
${APP_STATS_HELP}
A measurement takes a second; nothing is measured unless asked for.

Examples:
  edgectl apps stats GW-0001
  edgectl apps stats GW-0001 node-red --live --interval 10`;
