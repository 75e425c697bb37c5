import { type Command, Option } from "commander";
import { readLogFiles } from "../../lib/log/read-log-files.ts";
import { formatLogLine } from "../../lib/log/readable-line.ts";
import { logFilePath } from "../config/log-file.ts";
import { DaemonUnavailableError } from "../local/client.ts";
import { type Context, type Register, withCommonOptions } from "./context.ts";
import { CommandError, EXIT } from "./exit-code.ts";
import { parseCount } from "./common-options.ts";
import { readJournal } from "./service-manager.ts";

const HELP = `
Without APP: the agent's own log since its start, at most the last 500 lines; while it is not running, its log file, or
else the journal. Declared secrets of an app are masked in its log.

Examples:
  edge-agent logs node-red -f
  edge-agent logs node-red --previous
  edge-agent logs --tail 20`;

/** As of `edgectl apps logs`. */
const DEFAULT_TAIL = 200;

export function addLogs(program: Command, register: Register): void {
  const command = program
    .command("logs [app]")
    .description("show the output of an app, or the agent's own log")
    .option("-f, --follow", "continue with new lines, until Ctrl-C")
    .addOption(new Option("-n, --tail <number>", "number of past lines").argParser(parseCount).default(DEFAULT_TAIL))
    .option("-p, --previous", "what the app wrote before its present run: earlier runs, and the version before")
    .addOption(new Option("--lines <number>", "the same as --tail").argParser(parseCount).hideHelp());
  register(withCommonOptions(command).addHelpText("after", HELP), async (context, app, options) => {
    const { client, printer, io } = context;
    const show = (line: string): void => {
      if (printer.json) printer.jsonLine({ line });
      else printer.raw(app === undefined ? formatLogLine(line) : line);
    };
    const lines = Number(options["lines"] ?? options["tail"]);
    const follow = options["follow"] === true;
    const previous = options["previous"] === true;
    if (previous && app === undefined) throw new CommandError(EXIT.usage, "--previous needs the name of an app.");
    if (previous && follow) throw new CommandError(EXIT.usage, "--previous and --follow cannot be combined.");
    const query = new URLSearchParams({
      lines: String(lines),
      ...(follow && { follow: "" }),
      ...(previous && { previous: "" }),
    });
    const path = app === undefined ? "/log" : `/apps/${encodeURIComponent(app)}/log`;
    try {
      const stream = client.stream("GET", `${path}?${query.toString()}`, "logLine", { signal: io.interrupted });
      for await (const { line } of stream) show(line);
      return EXIT.ok;
    } catch (error) {
      const isDown = error instanceof DaemonUnavailableError && error.isDown;
      if (isDown && app === undefined && !follow) {
        for (const line of await readStoredLog(context, lines)) show(line);
      }
      throw error;
    }
  });
}

/** Reads the agent's log from its file or the journal while the daemon is not running. */
async function readStoredLog({ readConfig }: Context, lines: number): Promise<readonly string[]> {
  const config = await readConfig();
  const file = config instanceof Error ? undefined : config.log.file;
  const inFile = file && readLogFiles(logFilePath(file), lines, file.max_files);
  return inFile ?? (await readJournal(lines)).split("\n").filter((line) => line !== "");
}
