import { type Command, Option } from "commander";
import { MAX_LOG_TAIL_LINES } from "../../protocol/app-log.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { type LogEntry, readAppLogs } from "../api/app-logs.ts";
import { connect, createContext } from "../context.ts";
import type { Io } from "../io.ts";
import type { Printer } from "../printer.ts";
import { APP, ASSET, timeParser, wholeNumber } from "./options.ts";

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
    .addHelpText("after", HELP)
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
  const line = `${timestamps ? `${sanitizeLine(entry.timestamp)} ` : ""}${sanitizeLine(entry.text)}`;
  if (entry.stream === "stderr") io.stderr.write(`${line}\n`);
  else printer.line(line);
}

const HELP = `
What the app wrote to its standard error goes to standard error. What is too
much for the device's link is left out, and counted.

Examples:
  edgectl apps logs GW-0001 web --tail 50
  edgectl apps logs GW-0001 web --since 10m --timestamps
  edgectl apps logs GW-0001 web -f
  edgectl apps logs GW-0001 web --previous`;
